import type { Completion, ProgramHost } from "pawl";
import type { Act, Variables } from "../machine/state.ts";
import { ACT_MESSAGE, ESCALATION_MESSAGE } from "./topics.ts";

export type Acted =
  | { readonly kind: "act"; readonly act: Act }
  | {
      readonly kind: "escalation";
      readonly location: string;
      readonly code: string | null;
      readonly variables: Variables;
    };

/** A process run always listens to operators, and to the processes that it has called. */
export class Inbox {
  readonly #host: ProgramHost;
  readonly #onActed: (acted: Acted) => void;
  #count = 0;

  constructor(host: ProgramHost, onActed: (acted: Acted) => void) {
    this.#host = host;
    this.#onActed = onActed;
  }

  /** How many have come. */
  get count(): number {
    return this.#count;
  }

  open(count = 0): void {
    this.#count = count;
    this.#host.issue({
      kind: "wait",
      record: "select",
      location: `~act#${count + 1}`,
      issuedAt: this.#host.now(),
      arms: [
        { kind: "message", name: ACT_MESSAGE, as: "act" },
        { kind: "message", name: ESCALATION_MESSAGE, as: "escalation" },
      ],
      count: 1,
      many: false,
      until: null,
      atDeadline: { outcome: "ok", detail: null },
      settle: (completion) => this.#came(completion),
    });
  }

  #came(completion: Completion): void {
    this.open(this.#count + 1);
    if (completion.outcome !== "ok") return;
    const { value } = completion.value as { readonly value: unknown };
    if (completion.detail === "act") this.#onActed({ kind: "act", act: value as Act });
    else this.#onActed({ kind: "escalation", ...(value as Omit<Extract<Acted, { kind: "escalation" }>, "kind">) });
  }
}
