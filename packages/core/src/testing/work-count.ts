import { Session } from "node:inspector/promises";

type Call = (this: readonly unknown[], ...args: readonly unknown[]) => unknown;

/** Array calls that touch elements without a callback, with the number of elements that a call touches. */
const TOUCHED: Readonly<Record<string, (length: number, result: unknown, start: number) => number>> = {
  slice: (_, result) => (result as unknown[]).length,
  concat: (_, result) => (result as unknown[]).length,
  splice: (length, _, start) => length - Math.min(length, start),
  shift: (length) => length,
  unshift: (length) => length,
  indexOf: (length) => length,
  includes: (length) => length,
};

/**
 * Counts the work of code: the blocks that it executes, by V8's precise coverage, and the elements that calls of arrays, maps and sets
 * touch. The count does not depend on the host, unlike times.
 *
 * V8 counts blocks only in modules that are loaded after `startCounting`, so a test imports the engine after it.
 */
export class WorkCount {
  readonly #session: Session;
  readonly #folder: string;
  #elements = 0;

  private constructor(session: Session, folder: string) {
    this.#session = session;
    this.#folder = folder;
  }

  /** Starts counting for modules whose URL contains `folder`. */
  static async start(folder: string): Promise<WorkCount> {
    const session = new Session();
    session.connect();
    await session.post("Profiler.enable");
    await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: true });
    return new WorkCount(session, folder);
  }

  /** Returns how much work `call` did. */
  async of(call: () => Promise<void>): Promise<number> {
    const restore = this.#patch();
    await this.#session.post("Profiler.takePreciseCoverage");
    this.#elements = 0;
    try {
      await call();
    } finally {
      restore();
    }
    const { result } = await this.#session.post("Profiler.takePreciseCoverage");
    let blocks = 0;
    for (const { url, functions } of result) {
      if (!url.includes(this.#folder)) continue;
      for (const { ranges } of functions) for (const { count } of ranges) blocks += count;
    }
    return blocks + this.#elements;
  }

  async stop(): Promise<void> {
    await this.#session.post("Profiler.stopPreciseCoverage");
    this.#session.disconnect();
  }

  /** Replaces methods of arrays by ones that count. Returns a function that restores them. */
  #patch(): () => void {
    const methods = Array.prototype as unknown as Record<string | symbol, Call>;
    const originals = new Map<string | symbol, Call>();
    const replace = (
      name: string | symbol,
      touched: (length: number, result: unknown, start: number) => number,
    ): void => {
      const original = methods[name] as Call;
      originals.set(name, original);
      const add = (elements: number): void => {
        this.#elements += elements;
      };
      const counting: Call = function (...args) {
        const { length } = this;
        const result = Reflect.apply(original, this, args);
        add(touched(length, result, Number(args[0] ?? 0)));
        return result;
      };
      Object.defineProperty(Array.prototype, name, { value: counting, writable: true, configurable: true });
    };
    for (const [name, touched] of Object.entries(TOUCHED)) replace(name, touched);
    replace(Symbol.iterator, (length) => length);
    return () => {
      for (const [name, value] of originals)
        Object.defineProperty(Array.prototype, name, { value, writable: true, configurable: true });
    };
  }
}
