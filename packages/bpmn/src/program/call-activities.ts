import { type Completion, childPost, type Failure, type Post, type ProgramHost, type WorkflowRef } from "pawl";
import type { Command, Variables } from "../machine/state.ts";
import type { Binding } from "../model/process.ts";
import { stepCommand } from "./job-step.ts";
import { issuePost } from "./outgoing-messages.ts";
import type { ProcessInput } from "./process-input.ts";
import { businessKeyTag, startedByTag } from "./topics.ts";

type Call = Extract<Command, { kind: "call" }>;

/** The workflow that a call activity starts: a process, or a code workflow. */
export type Called = WorkflowRef & { readonly isProcess: boolean };

/**
 * The progress of a call.
 *
 * - `resolving`: a step determines the workflow and version.
 * - `starting`: the start of the child is not committed yet.
 * - `started`: the child was started.
 * - `cancelling`: the activity was interrupted, and the cancel of the child is not committed yet.
 */
export type CallState =
  | { readonly stage: "resolving"; readonly call: Call }
  | { readonly stage: "starting"; readonly call: Call; readonly child: string; readonly start: ChildStart }
  | { readonly stage: "started"; readonly call: Call; readonly child: string }
  | { readonly stage: "cancelling"; readonly call: Call; readonly child: string };

/** Workflow and variables of the child. Kept until its start is committed. */
interface ChildStart {
  readonly called: Called;
  readonly variables: Variables;
}

type Starting = Extract<CallState, { stage: "starting" }>;

interface CallParts {
  resolve(called: string, version: number | null, binding: Binding | null): Promise<Called> | Called;
  /** The business key of this run. The child gets the same one. */
  /** What a called process has of its caller. */
  inherited(): Pick<ProcessInput, "businessKey" | "by" | "priority">;
  /** The variables that a row sees. */
  variablesOf(row: number): Variables;
  onEnd(location: string, completion: Completion): void;
}

/**
 * Call activities of one process run. A step resolves the workflow version, so that replay uses the same one. Then the child is
 * started and awaited. A start or cancel that was not committed at a snapshot is posted again with the same id.
 */
export class CallActivities {
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
      this.#open.set(each.call.location, each);
      if (each.stage === "cancelling") this.#postCancel(each.call.location, each.child);
    }
  }

  /** Starts a call, or continues one from a snapshot. */
  start(call: Call): void {
    const known = this.#open.get(call.location);
    if (known === undefined || known.stage === "resolving") {
      this.#resolve(call);
    } else if (known.stage !== "cancelling") {
      if (known.stage === "starting") this.#postStart(known);
      if (call.waits) this.#awaitChild(known);
    }
  }

  /** The location of the call whose child was started at `startLocation`. Null if there is none. */
  callStartedAt(startLocation: string): string | null {
    const location = startLocation.endsWith("/start") ? startLocation.slice(0, -"/start".length) : "";
    return this.#open.has(location) ? location : null;
  }

  /** Cancels a call and its child. False if there is no such call. */
  cancel(location: string): boolean {
    const known = this.#open.get(location);
    if (known === undefined) return false;
    const reason = new Error(`the call activity ${location} was interrupted`);
    if (known.stage === "resolving") {
      this.#open.delete(location);
      this.#host.cancelUnder(location, reason);
    } else if (known.stage !== "cancelling") {
      this.#open.set(location, { stage: "cancelling", call: known.call, child: known.child });
      this.#host.cancelUnder(`${location}/result`, reason);
      this.#postCancel(location, known.child);
    }
    return true;
  }

  #resolve(call: Call): void {
    this.#open.set(call.location, { stage: "resolving", call });
    const step = stepCommand(this.#host, {
      location: call.location,
      body: async () => {
        const { name, version, isProcess } = await this.#parts.resolve(call.called, call.version, call.binding ?? null);
        return { name, version, isProcess };
      },
      retry: { maxAttempts: 1, initialMs: 0, factor: 1, maxMs: 0, jitter: 0 },
      settle: (completion) => this.#onResolved(call, completion),
    });
    this.#host.issue(step);
  }

  #onResolved(call: Call, completion: Completion): void {
    if (!this.#open.has(call.location)) return;
    if (completion.outcome !== "ok") {
      this.#end(call.location, completion);
      return;
    }
    const start = { called: completion.value as Called, variables: this.#parts.variablesOf(call.row) };
    const state: Starting = { stage: "starting", call, child: this.#post(call, start).run.id, start };
    this.#open.set(call.location, state);
    this.#postStart(state);
    if (call.waits) this.#awaitChild(state);
  }

  #post(call: Call, { called, variables }: ChildStart): Extract<Post, { kind: "start" }> {
    const inherited = this.#parts.inherited();
    const { businessKey, by } = inherited;
    const input: ProcessInput = { variables, startedBy: null, ...inherited };
    return childPost(this.#host, `${call.location}/start`, {
      workflow: called,
      input: called.isProcess ? input : variables,
      tags: [
        ...(businessKey === undefined ? [] : [businessKeyTag(businessKey)]),
        ...(by === undefined ? [] : [startedByTag(by)]),
      ],
      ...(!call.waits && { onParentClose: "abandon" }),
    });
  }

  #postStart({ call, child, start }: Starting): void {
    issuePost(this.#host, `${call.location}/start`, "spawn", this.#post(call, start), () => {
      const known = this.#open.get(call.location);
      if (!call.waits) this.#end(call.location, { outcome: "ok", value: {}, detail: null });
      else if (known?.stage === "starting") this.#open.set(call.location, { stage: "started", call, child });
    });
  }

  #awaitChild({ call, child }: Pick<Starting, "call" | "child">): void {
    this.#host.issue({
      kind: "wait",
      record: "child",
      location: `${call.location}/result`,
      issuedAt: this.#host.now(),
      arms: [{ kind: "child", location: `${call.location}/start`, child, as: "child" }],
      count: 1,
      many: false,
      until: null,
      atDeadline: { outcome: "timedOut", detail: null },
      settle: (completion) => this.#end(call.location, completion),
    });
  }

  #end(location: string, completion: Completion): void {
    if (this.#open.delete(location)) this.#parts.onEnd(location, completion);
  }

  #postCancel(location: string, to: string): void {
    const failure: Failure = { name: "Error", message: `the call activity ${location} was interrupted` };
    const reason = this.#host.encode(failure, "reason");
    const id = `left:${this.#host.runId}/${location}`;
    const cancel: Post = { kind: "cancel", to, id, reason, at: this.#host.now() };
    issuePost(this.#host, `${location}/cancel`, "cancel", cancel, () => this.#open.delete(location));
  }
}
