import type { ClaimedRun, Commit, Heartbeat, Transition } from "pawl";

/** An applied store call, as the monitors receive it. */
export type AppliedCall =
  | { readonly kind: "commit"; readonly batch: readonly Transition[]; readonly commit: Commit }
  | { readonly kind: "claim"; readonly runs: readonly ClaimedRun[] }
  | { readonly kind: "heartbeat"; readonly leaseMs: number; readonly answer: Heartbeat }
  | { readonly kind: "prune" }
  | { readonly kind: "retire"; readonly retired: string };
