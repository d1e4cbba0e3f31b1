import type { Engine } from "../../engine/engine.ts";
import { type Duration, parseDuration } from "../../model/duration.ts";
import type { AnyWorkflow } from "../../workflow/ctx.ts";
import type { MessageType, TopicType } from "../../workflow/messages.ts";
import type { VirtualClock } from "../virtual-world.ts";
import type { RunObservations } from "./run-observations.ts";
import type { Schedule } from "./schedule.ts";

/** A message to the run, or an event, sent at a time after the start of the run. */
export type ClientAction =
  | { readonly message: string | MessageType<unknown>; readonly value?: unknown; readonly after?: Duration }
  | { readonly event: string | TopicType<unknown>; readonly value?: unknown; readonly after?: Duration };

export type ClientScript = readonly ClientAction[];

/** Starts the run and sends its messages and events. */
export class ClientActions {
  readonly #client: Engine;
  readonly #start: () => Promise<unknown>;
  readonly #notes: RunObservations;
  readonly #times: number;
  /** Actions not sent yet, latest first. */
  readonly #pending: Array<{ readonly at: number; readonly id: string; readonly action: ClientAction }>;

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
    this.#pending = script
      .map((action, index) => ({ at: clock.now() + afterMs(action), id: `action ${index + 1}`, action }))
      .sort((left, right) => right.at - left.at || (left.id < right.id ? 1 : -1));
  }

  /** The time of the next action. Null if all were sent. */
  get nextAt(): number | null {
    return this.#pending.at(-1)?.at ?? null;
  }

  start(): void {
    this.#notes.log(() => `the run is started${this.#suffix}`);
    for (let time = 0; time < this.#times; time += 1) void this.#start();
  }

  next(): void {
    const next = this.#pending.pop();
    if (next === undefined) return;
    const { action, id } = next;
    this.#notes.log(() => `${describedAction(action)} is sent${this.#suffix}`);
    for (let time = 0; time < this.#times; time += 1) {
      if ("message" in action) void this.#client.send("explored", action.message, action.value, { id });
      else void this.#client.emit(action.event, action.value, { id });
    }
  }

  get #suffix(): string {
    return this.#times > 1 ? ", twice" : "";
  }
}

function afterMs({ after = 0 }: ClientAction): number {
  return parseDuration(after, "after");
}

function describedAction(action: ClientAction): string {
  if ("message" in action)
    return `message ${typeof action.message === "string" ? action.message : action.message.message}`;
  return `event ${typeof action.event === "string" ? action.event : action.event.topic}`;
}
