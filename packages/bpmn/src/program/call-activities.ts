import { type Completion, childPost, type Failure, type Post, type ProgramHost, type WorkflowRef } from "pawl";
import type { Command, Variables } from "../machine/state.ts";
import { post } from "./outgoing-messages.ts";
import type { ProcessInput } from "./process-input.ts";
import { businessKeyTag } from "./topics.ts";

type Call = Extract<Command, { kind: "call" }>;

/** The workflow that a call activity means: a process, or a workflow that is code. */
export type Called = WorkflowRef & { readonly isProcess: boolean };

/**
 * How far a call has come: which workflow is meant is being found out; its run is told to start, and it has been; or it was
 * left, and the run is told to cancel itself.
 */
export type CallState =
  | { readonly stage: "asked"; readonly call: Call }
  | { readonly stage: "starting"; readonly call: Call; readonly child: string; readonly begins: Begins }
  | { readonly stage: "started"; readonly call: Call; readonly child: string }
  | { readonly stage: "left"; readonly call: Call; readonly child: string };

/** What is called, and with what: needed until it has been told to start. */
interface Begins {
  readonly called: Called;
  readonly variables: Variables;
}

type Starting = Extract<CallState, { stage: "starting" }>;

export interface CallParts {
  resolve(called: string, version: number | null): Promise<Called> | Called;
  /** What is called has the business key of who calls. */
  businessKey(): string | null;
  /** What a row sees. */
  variablesOf(row: number): Variables;
  onEnd(place: string, completion: Completion): void;
}

/**
 * Calls of other processes and workflows. Which version is meant is found out in a step, whose record keeps it; then the child
 * is started and waited for. What was not told when a snapshot was taken is told again, under the same id.
 */
export class Calls {
  readonly #host: ProgramHost;
  readonly #parts: CallParts;
  readonly #open = new Map<string, CallState>();

  constructor(host: ProgramHost, parts: CallParts) {
    this.#host = host;
    this.#parts = parts;
  }

  get state(): readonly CallState[] {
    return [...this.#open.values()];
  }

  restore(state: readonly CallState[]): void {
    for (const each of state) {
      this.#open.set(each.call.place, each);
      if (each.stage === "left") this.#cancel(each.call.place, each.child);
    }
  }

  /** Begins, or goes on with what a snapshot says. */
  begin(call: Call): void {
    const known = this.#open.get(call.place);
    if (known === undefined || known.stage === "asked") {
      this.#ask(call);
    } else if (known.stage !== "left") {
      if (known.stage === "starting") this.#start(known);
      if (call.waits) this.#await(known);
    }
  }

  /** The call whose child was started at this location. */
  placeOf(location: string): string | null {
    const place = location.endsWith("/start") ? location.slice(0, -"/start".length) : "";
    return this.#open.has(place) ? place : null;
  }

  /** False: there is no such call. The child is asked to cancel itself. */
  withdraw(place: string): boolean {
    const known = this.#open.get(place);
    if (known === undefined) return false;
    const reason = new Error(`the call activity at ${place} was left`);
    if (known.stage === "asked") {
      this.#open.delete(place);
      this.#host.cancelUnder(place, reason);
    } else if (known.stage !== "left") {
      this.#open.set(place, { stage: "left", call: known.call, child: known.child });
      this.#host.cancelUnder(`${place}/result`, reason);
      this.#cancel(place, known.child);
    }
    return true;
  }

  #ask(call: Call): void {
    this.#open.set(call.place, { stage: "asked", call });
    this.#host.issue({
      kind: "step",
      record: "step",
      location: call.place,
      issuedAt: this.#host.now(),
      body: async () => {
        const { name, version, isProcess } = await this.#parts.resolve(call.called, call.version);
        return { name, version, isProcess };
      },
      retry: { maxAttempts: 1, initialMs: 0, factor: 1, maxMs: 0, jitter: 0 },
      shouldRetry: null,
      timeoutMs: null,
      retryOnTimeout: false,
      ephemeral: false,
      idempotencyKey: null,
      attempts: 0,
      retryAt: 0,
      settle: (completion) => this.#asked(call, completion),
    });
  }

  #asked(call: Call, completion: Completion): void {
    if (!this.#open.has(call.place)) return;
    if (completion.outcome !== "ok") {
      this.#end(call.place, completion);
      return;
    }
    const begins = { called: completion.value as Called, variables: this.#parts.variablesOf(call.row) };
    const state: Starting = { stage: "starting", call, child: this.#post(call, begins).run.id, begins };
    this.#open.set(call.place, state);
    this.#start(state);
    if (call.waits) this.#await(state);
  }

  #post(call: Call, { called, variables }: Begins): Extract<Post, { kind: "start" }> {
    const businessKey = this.#parts.businessKey();
    const input: ProcessInput = { variables, startedBy: null, ...(businessKey !== null && { businessKey }) };
    return childPost(this.#host, `${call.place}/start`, {
      workflow: called,
      input: called.isProcess ? input : variables,
      tags: businessKey === null ? [] : [businessKeyTag(businessKey)],
      ...(!call.waits && { onParentClose: "abandon" }),
    });
  }

  #start({ call, child, begins }: Starting): void {
    post(this.#host, `${call.place}/start`, "spawn", this.#post(call, begins), () => {
      const known = this.#open.get(call.place);
      if (!call.waits) this.#end(call.place, { outcome: "ok", value: {}, detail: null });
      else if (known?.stage === "starting") this.#open.set(call.place, { stage: "started", call, child });
    });
  }

  #await({ call, child }: Pick<Starting, "call" | "child">): void {
    this.#host.issue({
      kind: "wait",
      record: "child",
      location: `${call.place}/result`,
      issuedAt: this.#host.now(),
      arms: [{ kind: "child", location: `${call.place}/start`, child, as: "child" }],
      count: 1,
      many: false,
      until: null,
      atDeadline: { outcome: "timedOut", detail: null },
      settle: (completion) => this.#end(call.place, completion),
    });
  }

  #end(place: string, completion: Completion): void {
    if (this.#open.delete(place)) this.#parts.onEnd(place, completion);
  }

  #cancel(place: string, to: string): void {
    const failure: Failure = { name: "Error", message: `the call activity at ${place} was left` };
    const reason = this.#host.encode(failure, "reason");
    const id = `left:${this.#host.runId}/${place}`;
    const cancel: Post = { kind: "cancel", to, id, reason, at: this.#host.now() };
    post(this.#host, `${place}/cancel`, "cancel", cancel, () => this.#open.delete(place));
  }
}
