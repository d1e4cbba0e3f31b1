import { type Stats, statSync } from "node:fs";
import { dirname } from "node:path";
import { PawlError } from "../../model/errors.ts";

const LOG_SUFFIX = "-wal";

/** A path, and the file that it named when the store opened it. */
interface NamedFile {
  readonly path: string;
  readonly device: number;
  readonly inode: number;
}

/**
 * The database file and its write-ahead log, as the store opened them.
 *
 * Programs can delete or replace a file that is open. Writes to it succeed, and are lost when the process ends. A SQLite library closes the
 * file as if it was the last one if it does not see the locks of another library in the same process; it then deletes the log in use.
 *
 * After a write only the folder is read, which changes when a file in it is deleted, moved or replaced. A commit would take a third
 * longer if the log was: on Linux 6.13 and later, the write after a `stat` of a file also writes the file's timestamps.
 */
export class FileIdentity {
  readonly #folder: string;
  readonly #files: readonly NamedFile[];
  /** When the folder was changed last, as of the last complete check. Null if that is unknown. */
  #changedMs: number | null;

  /** `path` names an open database in WAL mode. */
  constructor(path: string) {
    this.#folder = dirname(path);
    this.#changedMs = changedMsOf(this.#folder);
    this.#files = [path, `${path}${LOG_SUFFIX}`].flatMap((each) => fileAt(each) ?? []);
  }

  /** Throws STORE_LOST if a path does not name the open file any more. */
  check(): void {
    const changedMs = changedMsOf(this.#folder);
    checkFiles(this.#files);
    this.#changedMs = changedMs;
  }

  /** The same after a write, if a file in the folder was created, deleted, moved or replaced since the last check. */
  checkAfterWrite(): void {
    if (this.#changedMs === null || changedMsOf(this.#folder) !== this.#changedMs) this.check();
  }

  /** The same for the database file alone. The store's own close may have deleted the log. */
  checkDatabase(): void {
    checkFiles(this.#files.slice(0, 1));
  }
}

function checkFiles(files: readonly NamedFile[]): void {
  for (const { path, device, inode } of files) {
    const found = statAt(path);
    if (found === null || (found?.dev === device && found.ino === inode)) continue;
    const end = found === undefined ? "deleted or moved" : "replaced";
    const cause = path.endsWith(LOG_SUFFIX) ? ", by a program or by another SQLite library in this process" : "";
    throw new PawlError(
      "STORE_LOST",
      `the file ${path} was ${end} while the store had it open${cause}; nothing is committed any more; restart the process`,
    );
  }
}

/** Null if the folder does not exist, or cannot be read. */
function changedMsOf(folder: string): number | null {
  return statAt(folder)?.mtimeMs ?? null;
}

function fileAt(path: string): NamedFile | null {
  const found = statAt(path);
  return found === null || found === undefined ? null : { path, device: found.dev, inode: found.ino };
}

/** Undefined if there is no such file. Null if the path cannot be read, which does not mean that the file is gone. */
function statAt(path: string): Stats | undefined | null {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return null;
  }
}
