import type { Ending } from "../workflow/program.ts";
import type { Undone } from "./compensation.ts";
import type { Diverged } from "./replay-next.ts";

/** What became of a move: something was handed to the program, it has ended, it asks for what its journal does not hold, or nothing is left to hand. */
export type Move =
  | { readonly kind: "handed" }
  | { readonly kind: "ended"; readonly ending: Ending | Undone }
  /** The program is stopped, and what it did is undone from here on; `isFresh`: that is not in the journal yet. */
  | { readonly kind: "stopped"; readonly isFresh: boolean }
  | Diverged
  | { readonly kind: "idle" };

export const HANDED: Move = { kind: "handed" };
export const IDLE: Move = { kind: "idle" };
