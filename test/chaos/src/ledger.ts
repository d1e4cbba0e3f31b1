import { type FileHandle, open } from "node:fs/promises";
import type { Entry, Line } from "./entry.ts";

/**
 * What has happened, in a process that is never killed.
 *
 * 1. Lines are only added, in the order in which they were heard.
 * 2. Whoever waits for a line is answered when it is on the disk.
 */
export class Ledger {
  readonly lines: Line[] = [];
  readonly #file: FileHandle;
  #waiting: Array<{ readonly text: string; readonly kept: () => void }> = [];
  #writing: Promise<void> | null = null;

  private constructor(file: FileHandle) {
    this.#file = file;
  }

  static async create(path: string): Promise<Ledger> {
    return new Ledger(await open(path, "wx"));
  }

  /** Resolves when the line is durable. */
  append(process: string, entry: Entry): Promise<void> {
    const line: Line = { n: this.lines.length + 1, process, ...entry };
    this.lines.push(line);
    return new Promise((kept) => {
      this.#waiting.push({ text: `${JSON.stringify(line)}\n`, kept });
      this.#writing ??= this.#write();
    });
  }

  async close(): Promise<void> {
    await this.#writing;
    await this.#file.close();
  }

  /** What comes while the disk is busy is written together. */
  async #write(): Promise<void> {
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      await this.#file.write(batch.map(({ text }) => text).join(""));
      await this.#file.datasync();
      for (const { kept } of batch) kept();
    }
    this.#writing = null;
  }
}
