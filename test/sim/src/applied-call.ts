import type { Commit, Heartbeat, Run, Transition } from "pawl";

/** A call of the store as the monitors see it, after it was applied. */
export type AppliedCall =
  | { readonly kind: "commit"; readonly batch: readonly Transition[]; readonly commit: Commit }
  | { readonly kind: "claim"; readonly runs: readonly Run[] }
  | { readonly kind: "heartbeat"; readonly leaseMs: number; readonly answer: Heartbeat }
  | { readonly kind: "prune" }
  | { readonly kind: "retire" };
