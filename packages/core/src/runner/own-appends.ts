import type { AppendOp, LostReason, Outcomes } from "../model/op.ts";
import type { Run } from "../model/run.ts";
import type { Body } from "./body.ts";
import type { Desk } from "./desk.ts";
import type { SessionWorld } from "./session-world.ts";
import { TimeUp } from "./time-up.ts";
import { Transactions } from "./transactions.ts";

/** How long a session waits when the store's clock is behind the one it goes by. */
export const EARLY_MS = 50;
/** How long after one read of its inbox a session asks for the next, while it does not know what came. */
export const BEHIND_MS = 500;

/** What the store's answer to an append means for the one that was under way by itself. */
export type OwnAnswer =
  /** It is so, and durable; or another append is. `rowTold`: the row knows what is waited for. */
  | { readonly kind: "durable"; readonly rowTold: boolean }
  /** Nothing changed, and it is put to the store again: when the inbox is known, or a little later. */
  | { readonly kind: "behind" | "early" }
  /** Nothing changed, and its step knows. */
  | { readonly kind: "failed" }
  | { readonly kind: "lost"; readonly reason: LostReason };

/** What goes to the store in an append of its own, one at a time: deadlines that have come, and transactions. */
export class OwnAppends {
  readonly timeUp: TimeUp;
  readonly #desk: Desk;
  readonly #world: SessionWorld;
  /** Made with the first: most runs have none. */
  #transactions: Transactions | null = null;

  constructor(desk: Desk, world: SessionWorld) {
    this.#desk = desk;
    this.#world = world;
    this.timeUp = new TimeUp(desk, world.hasCome);
  }

  /** Whether the store has been asked and has not answered. */
  get underWay(): boolean {
    return this.timeUp.underWay || (this.#transactions?.underWay ?? false);
  }

  /** Whether there is something to put to the store. */
  get waiting(): boolean {
    return this.timeUp.waiting || (this.#transactions?.waiting ?? false);
  }

  /** A body that the store runs. */
  add(body: Body): void {
    this.#transactions ??= new Transactions(this.#desk, this.#world);
    this.#transactions.add(body);
  }

  takeOp(run: Run): AppendOp | null {
    return this.timeUp.takeOp(run) ?? this.#transactions?.takeOp(run) ?? null;
  }

  answered(outcome: Outcomes["append"]): OwnAnswer {
    const rowTold = this.timeUp.underWay;
    switch (outcome.kind) {
      case "appended":
        if (outcome.again && this.#transactions?.isUnsure) return { kind: "lost", reason: "unsure" };
        if (rowTold) this.timeUp.accepted();
        if (this.#transactions?.underWay) this.#transactions.accepted();
        return { kind: "durable", rowTold };
      case "threw":
        this.#transactions?.threw(outcome.error);
        return { kind: "failed" };
      case "lost":
        if (!rowTold || (outcome.reason !== "inbox" && outcome.reason !== "early")) return outcome;
        this.timeUp.refused(outcome.reason);
        return { kind: outcome.reason === "inbox" ? "behind" : "early" };
    }
  }
}
