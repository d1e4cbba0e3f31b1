import type { Completion, ProgramHost } from "pawl";
import type { OperatorAction, Variables } from "../machine/state.ts";
import { ACTION_MESSAGE, ESCALATION_MESSAGE } from "./topics.ts";

export type InboxMessage =
  | { readonly kind: "action"; readonly action: OperatorAction }
  | {
      readonly kind: "escalation";
      readonly location: string;
      readonly code: string | null;
      readonly variables: Variables;
    };

/** Receives operator actions, and escalations of called processes, for the whole life of a process run. */
export class OperatorInbox {
  readonly #host: ProgramHost;
  readonly #onMessage: (message: InboxMessage) => void;
  #count = 0;

  constructor(host: ProgramHost, onMessage: (message: InboxMessage) => void) {
    this.#host = host;
    this.#onMessage = onMessage;
  }

  /** The number of messages received. */
  get count(): number {
    return this.#count;
  }

  /** The location of the newest message. */
  get location(): string {
    return `~act#${this.#count}`;
  }

  open(count = 0): void {
    this.#count = count;
    this.#host.issue({
      kind: "wait",
      record: "select",
      location: `~act#${count + 1}`,
      issuedAt: this.#host.now(),
      arms: [
        { kind: "message", name: ACTION_MESSAGE, as: "act" },
        { kind: "message", name: ESCALATION_MESSAGE, as: "escalation" },
      ],
      count: 1,
      many: false,
      until: null,
      atDeadline: { outcome: "ok", detail: null },
      settle: (completion) => this.#onCompletion(completion),
    });
  }

  #onCompletion(completion: Completion): void {
    this.open(this.#count + 1);
    if (completion.outcome !== "ok") return;
    const { value } = completion.value as { readonly value: unknown };
    if (completion.detail === "act") this.#onMessage({ kind: "action", action: value as OperatorAction });
    else
      this.#onMessage({
        kind: "escalation",
        ...(value as Omit<Extract<InboxMessage, { kind: "escalation" }>, "kind">),
      });
  }
}
