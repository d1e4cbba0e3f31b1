import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, readSync } from "node:fs";
import { PawlError } from "../../model/errors.ts";

const DESCRIPTORS = "/proc/self/fd";
const DESCRIPTOR_INFO = "/proc/self/fdinfo";
const INFO_BYTES_MAX = 4096;

/** The bytes of the `-shm` file that SQLite locks: a reader one of the first range, each open library the last. */
const READER_FIRST = 123;
const READER_LAST = 127;
const OPEN_BYTE = 128;

interface LockedRange {
  readonly first: number;
  readonly last: number;
}

/**
 * The lock that a SQLite library holds on the `-shm` file while it has a database open. It reveals a second copy of the library in this process.
 *
 * POSIX locks belong to a process, so two libraries in one process do not exclude each other: each erases commits of the other. Linux
 * shows the locks of a descriptor in `/proc/self/fdinfo`. If another library opens the file, it takes the same lock, and Linux attributes
 * the lock to its descriptor. If any descriptor of the file is closed, Linux removes all locks that the process has on it.
 */
export class ShmLock {
  readonly #path: string;
  readonly #info: number;
  readonly #buffer = Buffer.alloc(INFO_BYTES_MAX);

  private constructor(path: string, info: number) {
    this.#path = path;
    this.#info = info;
  }

  /**
   * Call this in a read transaction of the store's connection, which holds a lock that must be visible. Null if the platform does not show the locks of a descriptor. Throws
   * STORE_FOREIGN_DRIVER if another library in this process has the file open.
   */
  static find(path: string): ShmLock | null {
    const descriptors = descriptorsOf(`${path}-shm`);
    const [own] = descriptors;
    if (own === undefined) return null;
    if (descriptors.length > 1) throw foreignLibrary(path);
    const ranges = lockedRanges(readFileSync(`${DESCRIPTOR_INFO}/${own}`, "latin1"));
    if (!ranges.some(({ first, last }) => first <= READER_LAST && last >= READER_FIRST)) return null;
    if (!ranges.some(holdsOpenByte)) throw foreignLibrary(path);
    return new ShmLock(path, openSync(`${DESCRIPTOR_INFO}/${own}`, "r"));
  }

  /** Throws STORE_FOREIGN_DRIVER if another library has opened the file, or if any code has closed it. */
  check(): void {
    if (lockedRanges(this.#read()).some(holdsOpenByte)) return;
    throw foreignLibrary(this.#path);
  }

  close(): void {
    closeSync(this.#info);
  }

  #read(): string {
    const length = readSync(this.#info, this.#buffer, 0, INFO_BYTES_MAX, 0);
    return this.#buffer.toString("latin1", 0, length);
  }
}

/** The numbers of this process's descriptors of a file. Empty if the platform does not list them. */
function descriptorsOf(path: string): readonly string[] {
  try {
    return readdirSync(DESCRIPTORS).filter((number) => linkOf(`${DESCRIPTORS}/${number}`) === path);
  } catch {
    return [];
  }
}

/** Null if the descriptor was closed meanwhile. */
function linkOf(descriptor: string): string | null {
  try {
    return readlinkSync(descriptor);
  } catch {
    return null;
  }
}

/** Reads lines such as `lock: 1: POSIX ADVISORY READ 4711 08:01:42 128 128`. */
function lockedRanges(info: string): readonly LockedRange[] {
  return [...info.matchAll(/^lock:.* POSIX .* (\d+) (\d+|EOF)$/gm)].map(([, first, last]) => ({
    first: Number(first),
    last: last === "EOF" ? Number.POSITIVE_INFINITY : Number(last),
  }));
}

function holdsOpenByte({ first, last }: LockedRange): boolean {
  return first <= OPEN_BYTE && last >= OPEN_BYTE;
}

function foreignLibrary(path: string): PawlError {
  return new PawlError(
    "STORE_FOREIGN_DRIVER",
    `another SQLite library in this process, or code that reads it as a plain file, has opened ${path}, which removes the store's ` +
      "locks; nothing is committed any more; open the file with store.database() or openDatabase of pawl/sqlite, and restart the process",
  );
}
