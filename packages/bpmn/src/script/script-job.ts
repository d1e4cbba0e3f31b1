/** What a script may use. */
export interface ScriptLimits {
  readonly timeoutMs: number;
  readonly memoryBytesMax: number;
  /** More than 256 KB of stack lets a script overflow the stack of the engine around it. */
  readonly stackBytesMax: number;
  /** Characters of the variables that go in, as JSON. */
  readonly inputCharsMax: number;
  /** Characters of the result that comes out, as JSON. */
  readonly outputCharsMax: number;
}

export const SCRIPT_LIMITS: ScriptLimits = {
  timeoutMs: 5_000,
  memoryBytesMax: 16 * 1024 * 1024,
  stackBytesMax: 256 * 1024,
  inputCharsMax: 4_000_000,
  outputCharsMax: 1_000_000,
};

/** A script on its way to a worker. Everything in it is text and numbers. */
export interface ScriptJob {
  readonly id: number;
  readonly source: string;
  /** JSON. */
  readonly variables: string;
  /** What `Date` tells; epoch ms. */
  readonly now: number;
  /** What `Math.random` begins with. */
  readonly seed: number;
  readonly limits: ScriptLimits;
}

export type ScriptResult =
  | { readonly kind: "value"; readonly id: number /** JSON. */; readonly json: string }
  | { readonly kind: "failed"; readonly id: number; readonly reason: string }
  | {
      readonly kind: "limit";
      readonly id: number;
      readonly reason: string /** The worker is not to be used again. */;
      readonly isBroken: boolean;
    };
