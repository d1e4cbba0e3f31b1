import { codeError, codeErrorIn } from "../model/code-error.ts";
import type { Duration } from "../model/duration.ts";
import { hash32, hash128 } from "../model/hash.ts";
import { scopeAt } from "../model/location.ts";
import { visibleRunId } from "../model/names.ts";
import { kinds, readArgument } from "../model/option-check.ts";
import type { RecordKind } from "../model/record.ts";
import { DEFAULT_RETRY, type ResolvedRetry, resolveRetry } from "../model/retry.ts";
import { checkSchema } from "../model/schema.ts";
import { seededSequence } from "../runtime/random.ts";
import type { StepInfo } from "../workflow/command.ts";
import type {
  AnyWorkflow,
  ChildHandle,
  ChildOptions,
  Ctx,
  Received,
  SelectArm,
  Selected,
  SendOptions,
  StepFailure,
  StepOptions,
  TimedOut,
  TransactionOptions,
  TryResult,
  TryStepOptions,
  WaitOptions,
  WaitWithTimeout,
  WorkflowDeclaration,
} from "../workflow/ctx.ts";
import type { EventOptions, MessageType, TopicType } from "../workflow/messages.ts";
import type { Program, ProgramFactory, ProgramHost } from "../workflow/program.ts";
import type { Resource, ResourceOptions } from "../workflow/resource-options.ts";
import type {
  Branches,
  BranchList,
  EndlessLoopOptions,
  Joined,
  LoopOptions,
  MapOptions,
  PlainLoopOptions,
  RaceResult,
  ScopeFailure,
  ScopeOptions,
} from "../workflow/structure.ts";
import { type Branch, locate, outerSignal, type ProgramSettings } from "./ops/branch.ts";
import { cancel, child, continueAs, startChild } from "./ops/child.ts";
import { join, race } from "./ops/join.ts";
import { awaitEvent, listen, listenN } from "./ops/listen.ts";
import { loop } from "./ops/loop.ts";
import { map } from "./ops/map.ts";
import { emit, send } from "./ops/post.ts";
import { resource } from "./ops/resource.ts";
import { result } from "./ops/result.ts";
import { rollbackCheckpoint } from "./ops/rollback.ts";
import { tryScope } from "./ops/scope.ts";
import { select } from "./ops/select.ts";
import { sleep, sleepUntil } from "./ops/sleep.ts";
import { step, transaction, tryStep } from "./ops/step.ts";
import { getVersion, removed } from "./ops/version.ts";

type Timed = WaitOptions | WaitWithTimeout;

/** The ctx of one branch. Each operation is a file in ops/. */
export class CodeCtx implements Ctx {
  readonly #branch: Branch;

  constructor(branch: Branch) {
    this.#branch = branch;
  }

  get runId(): string {
    return visibleRunId(this.#branch.host.runId);
  }
  get workflow(): string {
    return this.#branch.workflow.name;
  }
  get attempt(): number {
    return Math.max(1, this.#branch.host.run.claims);
  }
  get signal(): AbortSignal {
    return outerSignal(this.#branch);
  }

  step<Value>(
    name: string,
    body: (info: StepInfo) => Value,
    options?: StepOptions<Awaited<Value>>,
  ): Promise<Awaited<Value>> {
    return step(this.#branch, name, body, options);
  }
  tryStep<Value>(
    name: string,
    body: (info: StepInfo) => Value,
    options?: TryStepOptions<Awaited<Value>>,
  ): Promise<TryResult<Awaited<Value>, StepFailure>> {
    return tryStep(this.#branch, name, body, options);
  }
  transaction<Tx, Value>(
    name: string,
    body: (tx: Tx, info: StepInfo) => Value,
    options?: TransactionOptions<Awaited<Value>>,
  ): Promise<Awaited<Value>> {
    return transaction(this.#branch, name, body, options);
  }
  resource<Value>(name: string, options: ResourceOptions<Value>): Promise<Resource<Value>> {
    return resource(this.#branch, name, options);
  }

  sleep(duration: Duration, options?: WaitOptions): Promise<void> {
    return sleep(this.#branch, duration, options);
  }
  sleepUntil(time: Date | number, options?: WaitOptions): Promise<void> {
    return sleepUntil(this.#branch, time, options);
  }

  listen<Value = unknown>(
    message: string | MessageType<Value>,
    options: WaitWithTimeout,
  ): Promise<Received<Value> | TimedOut>;
  listen<Value = unknown>(message: string | MessageType<Value>, options?: WaitOptions): Promise<Received<Value>>;
  listen<Value>(message: string | MessageType<Value>, options?: Timed): Promise<Received<Value> | TimedOut> {
    return listen(this.#branch, message, options);
  }
  listenN<Value = unknown>(
    message: string | MessageType<Value>,
    count: number,
    options?: Timed,
  ): Promise<{ readonly timedOut: boolean; readonly messages: ReadonlyArray<Received<Value>> }> {
    return listenN(this.#branch, message, count, options);
  }
  awaitEvent<Value = unknown>(
    topic: string | TopicType<Value>,
    options: WaitWithTimeout,
  ): Promise<Received<Value> | TimedOut>;
  awaitEvent<Value = unknown>(topic: string | TopicType<Value>, options?: WaitOptions): Promise<Received<Value>>;
  awaitEvent<Value>(topic: string | TopicType<Value>, options?: Timed): Promise<Received<Value> | TimedOut> {
    return awaitEvent(this.#branch, topic, options);
  }
  select<const Arms extends Readonly<Record<string, SelectArm>>>(
    arms: Arms,
    options?: WaitOptions,
  ): Promise<Selected<Arms>> {
    return select(this.#branch, arms, options);
  }

  join<const All extends Branches<Ctx> | BranchList<Ctx>>(name: string, branches: All): Promise<Joined<All>> {
    return join(this.#branch, name, branches);
  }
  race<const All extends Branches<Ctx> | BranchList<Ctx>>(name: string, branches: All): Promise<RaceResult<All>> {
    return race(this.#branch, name, branches);
  }
  map<Item, Value>(
    name: string,
    items: readonly Item[],
    run: (ctx: Ctx, item: Item, index: number) => Value,
    options: MapOptions & { readonly failures: "return" },
  ): Promise<ReadonlyArray<TryResult<Awaited<Value>, ScopeFailure>>>;
  map<Item, Value>(
    name: string,
    items: readonly Item[],
    run: (ctx: Ctx, item: Item, index: number) => Value,
    options?: MapOptions & { readonly failures?: "throw" },
  ): Promise<ReadonlyArray<Awaited<Value>>>;
  map<Item>(
    name: string,
    items: readonly Item[],
    run: (ctx: Ctx, item: Item, index: number) => unknown,
    options?: MapOptions,
  ): Promise<readonly never[]> {
    return map(this.#branch, { name, items, run }, options) as Promise<readonly never[]>;
  }
  loop<State, Value>(options: LoopOptions<Ctx, State, Value>): Promise<Value>;
  loop<Value>(options: PlainLoopOptions<Ctx, Value>): Promise<Value>;
  loop(options: EndlessLoopOptions<Ctx>): Promise<never>;
  loop<State, Value>(
    options: LoopOptions<Ctx, State, Value> | PlainLoopOptions<Ctx, Value> | EndlessLoopOptions<Ctx>,
  ): Promise<Value> {
    return loop(this.#branch, options);
  }
  try<Value>(
    name: string,
    run: (ctx: Ctx) => Value,
    options?: ScopeOptions,
  ): Promise<TryResult<Awaited<Value>, ScopeFailure>> {
    return tryScope(this.#branch, name, run, options);
  }
  getVersion(name: string, latest: number): Promise<number> {
    return getVersion(this.#branch, name, latest);
  }
  removed(name: string, kind: RecordKind): void {
    removed(this.#branch, name, kind);
  }

  child<Input, Output>(
    workflow: WorkflowDeclaration<Input, Output>,
    input?: Input,
    options?: ChildOptions & { readonly propagateFailure?: boolean },
  ): Promise<Output> {
    return child(this.#branch, workflow, input as Input, options) as Promise<Output>;
  }
  startChild<Input, Output>(
    workflow: WorkflowDeclaration<Input, Output>,
    input?: Input,
    options?: ChildOptions,
  ): Promise<ChildHandle<Output>> {
    return startChild(this.#branch, workflow, input as Input, options);
  }
  result<Output = unknown>(runId: string, options?: WaitOptions): Promise<Output> {
    return result(this.#branch, runId, options);
  }
  continueAs(input: unknown): Promise<never>;
  continueAs<Input, Output>(workflow: WorkflowDeclaration<Input, Output>, input: Input): Promise<never>;
  continueAs(...args: readonly [unknown] | readonly [WorkflowDeclaration, unknown]): Promise<never> {
    return args.length === 1
      ? continueAs(this.#branch, this.#branch.workflow, args[0])
      : continueAs(this.#branch, args[0], args[1]);
  }

  rollbackCheckpoint(name: string): Promise<void> {
    return rollbackCheckpoint(this.#branch, name);
  }

  send<Value>(runId: string, message: string | MessageType<Value>, value: Value, options?: SendOptions): Promise<void> {
    return send(this.#branch, runId, message, value, options);
  }
  cancel(runId: string, reason?: string): Promise<void> {
    return cancel(this.#branch, runId, reason);
  }
  emit<Value>(
    topic: string | TopicType<Value>,
    value: Value,
    options?: EventOptions & { readonly id?: string },
  ): Promise<void> {
    return emit(this.#branch, topic, value, options);
  }

  now(): number {
    return this.#branch.host.now();
  }
  random(): number {
    return seededSequence(hash32(this.#nextSeed("random")))();
  }
  uuid(): string {
    const hex = hash128(this.#nextSeed("uuid"));
    const variant = ((Number.parseInt(hex.slice(16, 17), 16) & 3) | 8).toString(16);
    return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20)}`;
  }
  log(text: string, fields: Readonly<Record<string, unknown>> = {}): void {
    const { host, settings } = this.#branch;
    readArgument(kinds.text, text, "text of the log line");
    const named = readArgument(kinds.map(kinds.value), fields, "fields of the log line");
    if (host.live) settings.log("info", text, { run: host.runId, ...named });
  }

  /** Different for each call, the same in every replay. */
  #nextSeed(name: string): string {
    return `${this.#branch.host.seed}/${locate(this.#branch, name)}`;
  }
}

/** Returns the workflow's own program, or one that executes its function. */
export function codeProgram(workflow: AnyWorkflow, settings: ProgramSettings): ProgramFactory {
  if (workflow.program !== null) return workflow.program;
  const retry = resolveRetry(workflow.options.retry, DEFAULT_RETRY);
  return (host) => new CodeProgram(host, workflow, settings, retry);
}

class CodeProgram implements Program {
  readonly #host: ProgramHost;
  readonly #workflow: AnyWorkflow;
  readonly #settings: ProgramSettings;
  readonly #retry: ResolvedRetry;

  constructor(host: ProgramHost, workflow: AnyWorkflow, settings: ProgramSettings, retry: ResolvedRetry) {
    this.#host = host;
    this.#workflow = workflow;
    this.#settings = settings;
    this.#retry = retry;
  }

  start(input: unknown): void {
    const ctx = new CodeCtx({
      host: this.#host,
      scope: scopeAt(""),
      workflow: this.#workflow,
      settings: this.#settings,
      retry: this.#retry,
      cancellation: null,
      createCtx: (branch) => new CodeCtx(branch),
    });
    const { codeErrors, revision } = this.#settings;
    runCode(this.#host, this.#workflow, ctx, { input, codeErrors, revision });
  }
}

interface CodeCall extends Pick<ProgramSettings, "codeErrors" | "revision"> {
  readonly input: unknown;
}

function runCode(host: ProgramHost, workflow: AnyWorkflow, ctx: Ctx, { input, ...settings }: CodeCall): void {
  const { codeErrors = settings.codeErrors, revision = settings.revision } = workflow.options;
  const failed = (error: unknown): void => {
    const cause = codeErrors === "pause" ? codeErrorIn(error) : null;
    if (cause === null) host.finish({ kind: "failed", error });
    else host.finish({ kind: "broken", error: codeError(host.run, cause, revision) });
  };
  const completed = (value: unknown): void => {
    try {
      const { output: schema } = workflow.options;
      const output = schema === undefined ? value : checkSchema(schema, value, `output of run ${host.runId}`);
      host.finish({ kind: "completed", output });
    } catch (error) {
      failed(error);
    }
  };
  try {
    Promise.resolve(workflow.run(ctx, input)).then(completed, failed);
  } catch (error) {
    failed(error);
  }
}
