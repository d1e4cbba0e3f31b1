/** Limits of one script. */
export interface ScriptLimits {
  readonly timeoutMs: number;
  readonly memoryBytesMax: number;
  /** At most 256 KB: with more, a script can overflow the stack of QuickJS itself. */
  readonly stackBytesMax: number;
  /** Characters of the script and its variables as JSON. */
  readonly inputCharsMax: number;
  /** Characters of the result as JSON. */
  readonly outputCharsMax: number;
}

export const SCRIPT_LIMITS: ScriptLimits = {
  timeoutMs: 5_000,
  memoryBytesMax: 16 * 1024 * 1024,
  stackBytesMax: 256 * 1024,
  inputCharsMax: 4_000_000,
  outputCharsMax: 1_000_000,
};

/** A script as sent to a worker thread: text and numbers only. */
export interface ScriptJob {
  readonly id: number;
  readonly source: string;
  /** JSON. */
  readonly variables: string;
  /** The current time for `Date`; epoch ms. */
  readonly now: number;
  /** The seed of `Math.random`. */
  readonly seed: number;
  readonly limits: ScriptLimits;
  readonly linesMax: number;
}

/** The most lines of one script that are kept, each of at most 1,000 characters. */
export const SCRIPT_LINES_MAX = 100;

/** A line that a script has written to its console. */
export interface ScriptLine {
  readonly level: "info" | "warn" | "error";
  readonly text: string;
}

export type ScriptResult =
  | {
      readonly kind: "value";
      readonly id: number /** JSON. */;
      readonly json: string;
      readonly lines: readonly ScriptLine[];
    }
  | {
      readonly kind: "failed";
      readonly id: number;
      readonly reason: string;
      readonly lines: readonly ScriptLine[];
    }
  | {
      readonly kind: "limit";
      readonly id: number;
      readonly reason: string /** The worker must not run another script. */;
      readonly isBroken: boolean;
    };
