import type { Body, TryEnd } from "./body.ts";

/** Who hears of what happens at a desk: its session. */
export interface DeskListener {
  /** There is something to be committed. */
  onFilled(): void;
  /** A completion is recorded. */
  onAdded(): void;
  onTried(body: Body, end: TryEnd): void;
  /** A body that the store runs: `took` or `threw` of its steps tells how that ended. */
  onTransaction(body: Body): void;
}
