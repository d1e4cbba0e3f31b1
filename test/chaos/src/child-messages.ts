import type { Entry } from "./entry.ts";
import type { Scenario } from "./load/scenario.ts";

/** From a worker or the client to the parent. */
export type ToParent =
  | { readonly kind: "ready" }
  /** If `number` is not null, the sender waits until the entry is durable. */
  | { readonly kind: "entry"; readonly entry: Entry; readonly number: number | null }
  | { readonly kind: "next" }
  | { readonly kind: "driven"; readonly index: number };

export type ToChild =
  | { readonly kind: "kept"; readonly number: number }
  /** Null if there is no scenario now. The child requests one again later. */
  | { readonly kind: "scenario"; readonly scenario: Scenario | null };
