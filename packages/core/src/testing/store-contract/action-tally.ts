import type { Answer, Transition } from "../../model/transition.ts";
import type { Heartbeat, Pruned } from "../../rules/tables.ts";
import type { Commit } from "../../store/store.ts";
import type { StoreAction } from "./store-actions.ts";

type End = "succeeded" | "failed";

/** Kinds of ops that can succeed and fail. */
const BOTH = [
  "create",
  "append",
  "control",
  "send",
  "emit",
  "cancel",
  "letter",
  "revise",
  "claim",
  "heartbeat",
  "prune",
] as const;
/** Kinds of ops that a store never refuses. */
const ALWAYS = ["documents", "retire"] as const;

type OpKind = (typeof BOTH)[number] | (typeof ALWAYS)[number];

/** Answers to a post that changed nothing, although the transition was applied. */
const UNDELIVERED: ReadonlySet<string> = new Set(["targetNotFound", "targetTerminated", "dropped", "duplicate"]);

/** Counts the outcomes of a sequence of ops by kind. A sequence tests little if a kind always succeeds or always fails. */
export class ActionTally {
  readonly #counts = new Map<OpKind, { succeeded: number; failed: number }>();

  get count(): number {
    return [...this.#counts.values()].reduce((sum, { succeeded, failed }) => sum + succeeded + failed, 0);
  }

  add(action: StoreAction, answer: unknown): void {
    for (const [kind, end] of endsOf(action, answer)) {
      const counts = this.#counts.get(kind) ?? { succeeded: 0, failed: 0 };
      counts[end] += 1;
      this.#counts.set(kind, counts);
    }
  }

  /** The outcomes that have not occurred yet, one sentence each. */
  get missing(): readonly string[] {
    const lacks = (kind: OpKind, end: End): boolean => (this.#counts.get(kind)?.[end] ?? 0) === 0;
    return [
      ...[...BOTH, ...ALWAYS].filter((kind) => lacks(kind, "succeeded")).map((kind) => `${kind} never succeeded`),
      ...BOTH.filter((kind) => lacks(kind, "failed")).map((kind) => `${kind} never failed`),
    ];
  }

  /** One line per kind. */
  toString(): string {
    const lines = [...this.#counts].map(([kind, { succeeded, failed }]) => {
      return `${kind.padEnd(10)} ${String(succeeded).padStart(7)} succeeded ${String(failed).padStart(7)} failed`;
    });
    return lines.sort().join("\n");
  }
}

function endsOf(action: StoreAction, answer: unknown): readonly (readonly [OpKind, End])[] {
  switch (action.kind) {
    case "commit": {
      const { answers } = answer as Commit;
      return action.batch.map((transition, index) => [kindOf(transition), endOf(answers[index])]);
    }
    case "claim":
      return [["claim", ended((answer as readonly unknown[]).length > 0)]];
    case "heartbeat":
      return [["heartbeat", ended((answer as Heartbeat).alive)]];
    case "prune": {
      const { runs, entries, expired, letters } = answer as Pruned;
      return [["prune", ended(runs + entries + expired + letters > 0)]];
    }
    case "retire":
      return [["retire", "succeeded"]];
    case "read":
    case "advance":
      return [];
  }
}

const POST_KINDS = { message: "send", event: "emit", cancel: "cancel" } as const;

function kindOf(transition: Transition): OpKind {
  return transition.kind === "post" ? POST_KINDS[transition.post.kind] : transition.kind;
}

function endOf(answer: Answer | undefined): End {
  return ended(answer?.kind === "applied" && !UNDELIVERED.has(answer.post?.kind ?? ""));
}

function ended(succeeded: boolean): End {
  return succeeded ? "succeeded" : "failed";
}
