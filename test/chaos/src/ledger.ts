import { type FileHandle, open } from "node:fs/promises";
import type { Entry, Line } from "./entry.ts";

/**
 * The reports of all processes, written by a process that is never killed.
 *
 * 1. Lines are only appended, in the order in which they were received.
 * 2. An append resolves when its line is durable.
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

  /** Lines that arrive during a write are written together. */
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
