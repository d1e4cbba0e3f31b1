import type { Engine } from "../../engine/engine.ts";
import { type Duration, parseDuration } from "../../model/duration.ts";
import type { AnyWorkflow } from "../../workflow/ctx.ts";
import type { MessageType, TopicType } from "../../workflow/messages.ts";
import type { VirtualClock } from "../virtual-world.ts";
import type { RunObservations } from "./run-observations.ts";
import type { Schedule } from "./schedule.ts";

/** A message to the run, or an event, at a time after its start. */
export type ClientAction =
  | { readonly message: string | MessageType<unknown>; readonly value?: unknown; readonly after?: Duration }
  | { readonly event: string | TopicType<unknown>; readonly value?: unknown; readonly after?: Duration };

export type ClientScript = readonly ClientAction[];

/** What comes for a run from outside. */
export class ClientActions {
  readonly #client: Engine;
  readonly #start: () => Promise<unknown>;
  readonly #notes: RunObservations;
  readonly #times: number;
  /** The earliest last. */
  readonly #left: Array<{ readonly at: number; readonly id: string; readonly act: ClientAction }>;

  constructor(
    client: Engine,
    {
      workflow,
      input,
      script,
    }: { readonly workflow: AnyWorkflow; readonly input: unknown; readonly script: ClientScript },
    { faults }: Schedule,
    notes: RunObservations,
    clock: VirtualClock,
  ) {
    this.#client = client;
    this.#notes = notes;
    this.#times = faults.some(({ kind }) => kind === "twice") ? 2 : 1;
    this.#start = () => client.start(workflow, input, { id: "explored" });
    this.#left = script
      .map((act, index) => ({ at: clock.now() + afterMs(act), id: `act ${index + 1}`, act }))
      .sort((left, right) => right.at - left.at || (left.id < right.id ? 1 : -1));
  }

  /** When the next is due; null: there is none. */
  get nextAt(): number | null {
    return this.#left.at(-1)?.at ?? null;
  }

  start(): void {
    this.#notes.tell(() => `the run is started${this.#often}`);
    for (let time = 0; time < this.#times; time += 1) void this.#start();
  }

  next(): void {
    const next = this.#left.pop();
    if (next === undefined) return;
    const { act, id } = next;
    this.#notes.tell(() => `${describedAct(act)} is sent${this.#often}`);
    for (let time = 0; time < this.#times; time += 1) {
      if ("message" in act) void this.#client.send("explored", act.message, act.value, { id });
      else void this.#client.emit(act.event, act.value, { id });
    }
  }

  get #often(): string {
    return this.#times > 1 ? ", twice" : "";
  }
}

function afterMs({ after = 0 }: ClientAction): number {
  return parseDuration(after, "after");
}

function describedAct(act: ClientAction): string {
  if ("message" in act) return `message ${typeof act.message === "string" ? act.message : act.message.message}`;
  return `event ${typeof act.event === "string" ? act.event : act.event.topic}`;
}
