import type { Duration } from "../model/duration.ts";
import type { LeftoverPolicy } from "../model/inbox.ts";
import type { CodeOptions, PolicyOptions } from "../model/policy.ts";
import type { RecordKind } from "../model/record.ts";
import type { RetryOptions } from "../model/retry.ts";
import type { ParentClosePolicy } from "../model/run.ts";
import type { StandardSchema } from "../model/schema.ts";
import type { LimitOptions } from "../model/start-limits.ts";
import type { SqliteTx } from "../model/tx.ts";
import type { StepInfo } from "./command.ts";
import type { EventOptions, MessageType, TopicType } from "./messages.ts";
import type { ProgramFactory } from "./program.ts";
import type { Resource, ResourceOptions } from "./resource-options.ts";
import type { RollbackHandler, RollbackOptions } from "./rollback-options.ts";
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
} from "./structure.ts";

export interface StepOptions<Value = unknown> {
  /** Retry policy. `false` means one attempt. Default: the workflow's policy, else 3 attempts, 1 s and 2 s apart. */
  readonly retry?: RetryOptions | false;
  /** Maximum duration of one attempt. Default: unlimited. */
  readonly timeout?: Duration;
  /** Whether an attempt that timed out is retried. Default: false; the step fails at once. */
  readonly retryOnTimeout?: boolean;
  /**
   * Commit the result with the next record instead of by itself. Faster; the step runs again if the process crashes before that.
   */
  readonly ephemeral?: boolean;
  /** Replaces the default key, which consists of run id and location. */
  readonly idempotencyKey?: string;
  /** Undoes the completed step if the run fails or is cancelled later. Rollbacks run newest first. */
  readonly rollback?: RollbackHandler<Value> | RollbackOptions<Value>;
}

export interface TryStepOptions<Value = unknown> extends StepOptions<Value> {
  /** Failures that are returned as values. Others are thrown. Default: all but `rollback`. */
  readonly catch?: ReadonlyArray<StepFailure["kind"]>;
}

export type TransactionOptions<Value = unknown> = Pick<StepOptions<Value>, "retry" | "idempotencyKey" | "rollback">;

/** The final failure of a step. */
export interface StepFailure {
  /**
   * - `critical`: not retryable, such as a `CriticalError`.
   * - `timeout`: the attempt timed out and timeouts are not retried.
   * - `exhausted`: every attempt failed.
   * - `rollback`: the step body threw a `RollbackError`.
   */
  readonly kind: "critical" | "timeout" | "exhausted" | "rollback";
  readonly step: string;
  readonly error: Error;
}

export type TryResult<Value, Why> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly failure: Why };

/** A received message or event. */
export interface Received<Value> {
  readonly timedOut: false;
  readonly value: Value;
  readonly id: string;
  /** Time it was sent, in epoch ms. */
  readonly sentAt: number;
}

/** The wait timed out. No payload can be mistaken for it. */
export interface TimedOut {
  readonly timedOut: true;
}

export interface WaitOptions {
  /** Name in the journal. Default: the name of the message or topic, or of the operation. */
  readonly name?: string;
}

/** A wait that ends after a duration, or at a time: a `Date` or epoch ms. */
export type WaitWithTimeout = WaitOptions &
  (
    | { readonly timeout: Duration; readonly until?: undefined }
    | { readonly until: Date | number; readonly timeout?: undefined }
  );

/** One alternative of `ctx.select`. */
export type SelectArm =
  | { readonly message: string | MessageType<unknown> }
  | { readonly event: string | TopicType<unknown> }
  | { readonly child: ChildHandle<unknown> }
  | { readonly after: Duration }
  | { readonly until: Date | number };

type SelectValue<Arm> = Arm extends { message: MessageType<infer Value> }
  ? Value
  : Arm extends { event: TopicType<infer Value> }
    ? Value
    : Arm extends { child: ChildHandle<infer Output> }
      ? Output
      : Arm extends { message: string } | { event: string }
        ? unknown
        : undefined;

/** The key of the arm that won, and its value. */
export type Selected<Arms> = {
  [Key in keyof Arms & string]: { readonly key: Key; readonly value: SelectValue<Arms[Key]> };
}[keyof Arms & string];

export interface ChildOptions extends LimitOptions {
  /** Name in the journal, and part of the child's id. Default: the workflow's name. */
  readonly name?: string;
  /** What happens to the child when this run ends first. Default: `cancel` of `ctx.child`, `abandon` of `ctx.startChild`. */
  readonly onParentClose?: ParentClosePolicy;
  readonly tags?: readonly string[];
  /** Time until the child starts. Default 0. */
  readonly delay?: Duration;
}

export interface ChildHandle<Output> {
  readonly runId: string;
  /** Resolves with the child's output. Rejects with code `CHILD_FAILED` and the child's failure as cause. */
  result(): Promise<Output>;
  /** Requests a cancel of the child. Its `result` then rejects, unless it ends first. Repeated calls have no effect. */
  cancel(reason?: string): Promise<void>;
}

export interface SendOptions {
  /** Idempotency id: a second message with the same id is ignored. Default: made of run id and location. */
  readonly id?: string;
  /** What happens to the message if its target ends without receiving it. Default `deadLetter`. */
  readonly onTargetTerminated?: LeftoverPolicy;
}

/**
 * The durable operations of a workflow function. A call that returns a promise is recorded, and replay returns the recorded
 * result. Step bodies cannot use them: such a call is rejected with `CTX_IN_STEP`. `Input` is the input of the workflow, which
 * `continueAs` takes.
 */
export interface Ctx<Input = unknown> {
  readonly runId: string;
  readonly workflow: string;
  /** Number of claims without progress. 1 in normal operation. */
  readonly attempt: number;
  /** Aborted when the run fails or is cancelled, or another worker owns it. */
  readonly signal: AbortSignal;

  /** Executes `body` and records its result. The only place for side effects. */
  step<Value>(
    name: string,
    body: (info: StepInfo) => Value,
    options?: StepOptions<Awaited<Value>>,
  ): Promise<Awaited<Value>>;
  /** Like `step`, but returns a final failure as a value. */
  tryStep<Value>(
    name: string,
    body: (info: StepInfo) => Value,
    options?: TryStepOptions<Awaited<Value>>,
  ): Promise<TryResult<Awaited<Value>, StepFailure>>;

  /**
   * Executes a step body inside the store's database transaction. Its record and its writes commit together, exactly once, even if the
   * process crashes. `tx` is the store's transaction: a `SqliteTx`, or the type of the body's parameter.
   */
  transaction<Tx = SqliteTx, Value = unknown>(
    name: string,
    body: (tx: Tx, info: StepInfo) => Value,
    options?: TransactionOptions<Awaited<Value>>,
  ): Promise<Awaited<Value>>;

  /**
   * Acquires a value that cannot be stored, such as a connection. Released when the run is suspended, ends or moves to another worker,
   * and acquired again before it resumes.
   */
  resource<Value>(name: string, options: ResourceOptions<Value>): Promise<Resource<Value>>;

  /** Suspends the run for a duration. */
  sleep(duration: Duration, options?: WaitOptions): Promise<void>;
  /** Suspends the run until a time: a `Date` or epoch ms. */
  sleepUntil(time: Date | number, options?: WaitOptions): Promise<void>;

  /** Waits for a message to this run. With `timeout` or `until`, check `timedOut` of the result. */
  listen<Value = unknown>(
    message: string | MessageType<Value>,
    options: WaitWithTimeout,
  ): Promise<Received<Value> | TimedOut>;
  listen<Value = unknown>(message: string | MessageType<Value>, options?: WaitOptions): Promise<Received<Value>>;
  /** Waits for `count` messages. If the wait times out, returns the messages received so far. */
  listenN<Value = unknown>(
    message: string | MessageType<Value>,
    count: number,
    options?: WaitOptions | WaitWithTimeout,
  ): Promise<{ readonly timedOut: boolean; readonly messages: ReadonlyArray<Received<Value>> }>;
  /** Waits for an event on a topic. With `timeout` or `until`, check `timedOut` of the result. */
  awaitEvent<Value = unknown>(
    topic: string | TopicType<Value>,
    options: WaitWithTimeout,
  ): Promise<Received<Value> | TimedOut>;
  awaitEvent<Value = unknown>(topic: string | TopicType<Value>, options?: WaitOptions): Promise<Received<Value>>;
  /** Waits for the first of several arms. The other arms receive nothing: their messages stay in the inbox. */
  select<const Arms extends Readonly<Record<string, SelectArm>>>(
    arms: Arms,
    options?: WaitOptions,
  ): Promise<Selected<Arms>>;

  /**
   * Runs the branches concurrently, each to its end, and returns their values by name. Rejects with a `JoinError` that has the error of
   * every failed branch. A branch is a function, or an object with a function `run`; a list names its branches by `name`.
   */
  join<const All extends Branches<Ctx<Input>>>(name: string, branches: All): Promise<Joined<All>>;
  join<const All extends BranchList<Ctx<Input>>>(name: string, branches: All): Promise<Joined<All>>;
  /**
   * Runs the branches concurrently and returns the first that succeeds. The other branches are cancelled: their signals are aborted and
   * they start nothing more. Rejects with a `RaceError` if all branches fail. Takes branches in the same forms as `join`.
   */
  race<const All extends Branches<Ctx<Input>>>(name: string, branches: All): Promise<RaceResult<All>>;
  race<const All extends BranchList<Ctx<Input>>>(name: string, branches: All): Promise<RaceResult<All>>;
  /**
   * Calls a function for each item, in a branch of its own, and returns the values in the order of the items. Every item is processed, even
   * if others fail. Rejects with a `JoinError`, whose `errors` are by index, or with `failures: "return"` returns each failure as a value.
   */
  map<Item, Value>(
    name: string,
    items: readonly Item[],
    run: (ctx: Ctx<Input>, item: Item, index: number) => Value,
    options: MapOptions & { readonly failures: "return" },
  ): Promise<ReadonlyArray<TryResult<Awaited<Value>, ScopeFailure>>>;
  map<Item, Value>(
    name: string,
    items: readonly Item[],
    run: (ctx: Ctx<Input>, item: Item, index: number) => Value,
    options?: MapOptions & { readonly failures?: "throw" },
  ): Promise<ReadonlyArray<Awaited<Value>>>;
  /** Repeats a function with a state, for any number of iterations. The journal keeps the state and the last iterations only. */
  loop<State, Value>(options: LoopOptions<Ctx<Input>, State, Value>): Promise<Value>;
  loop<Value>(options: PlainLoopOptions<Ctx<Input>, Value>): Promise<Value>;
  /** Without a `return`, the loop ends only with the run, or with an error. */
  loop(options: EndlessLoopOptions<Ctx<Input>>): Promise<never>;
  /** Runs a function in a named scope and returns its failure as a value. */
  try<Value>(
    name: string,
    run: (ctx: Ctx<Input>) => Value,
    options?: ScopeOptions,
  ): Promise<TryResult<Awaited<Value>, ScopeFailure>>;

  /**
   * Version of a code change. Returns `latest` for a run that reaches this point first, and the recorded version in every replay. A run that passed
   * here before the call was added gets 1.
   */
  getVersion(name: string, latest: number): Promise<number>;
  /** Declares that earlier code had an operation of this name and kind here. Replay skips its records. */
  removed(name: string, kind: RecordKind): void;

  /** Starts a run of another workflow and waits for its output. A declaration names a workflow whose code is elsewhere. */
  child<ChildInput, Output>(
    workflow: WorkflowDeclaration<ChildInput, Output>,
    ...none: undefined extends ChildInput ? [] : [input: ChildInput]
  ): Promise<Output>;
  child<ChildInput, Output>(
    workflow: WorkflowDeclaration<ChildInput, Output>,
    input: ChildInput,
    options: ChildOptions & { readonly propagateFailure: false },
  ): Promise<Output | undefined>;
  child<ChildInput, Output>(
    workflow: WorkflowDeclaration<ChildInput, Output>,
    input: ChildInput,
    options?: ChildOptions & { readonly propagateFailure?: boolean },
  ): Promise<Output>;
  /** Starts a run of another workflow and returns its handle. */
  startChild<ChildInput, Output>(
    workflow: WorkflowDeclaration<ChildInput, Output>,
    ...none: undefined extends ChildInput ? [] : [input: ChildInput]
  ): Promise<ChildHandle<Output>>;
  startChild<ChildInput, Output>(
    workflow: WorkflowDeclaration<ChildInput, Output>,
    input: ChildInput,
    options?: ChildOptions,
  ): Promise<ChildHandle<Output>>;
  /**
   * Waits for the output of any run, by its id. Rejects with `RUN_FAILED`, `RUN_CANCELLED` or `RUN_NOT_FOUND`. The run is read at growing
   * intervals, at most 30 s apart; to wait for a child, use its handle.
   */
  result<Output = unknown>(runId: string, options?: WaitOptions): Promise<Output>;
  /** Ends this generation and starts the next: the same run and inbox, a new journal. Never resolves. */
  continueAs(input: Input): Promise<never>;
  continueAs<NextInput, Output>(workflow: WorkflowDeclaration<NextInput, Output>, input: NextInput): Promise<never>;

  /** Steps before the checkpoint are no longer rolled back. Durable before any later step starts. */
  rollbackCheckpoint(name: string): Promise<void>;

  /** Sends a message to a run. A message that cannot be delivered becomes a dead letter. */
  send<Value>(runId: string, message: string | MessageType<Value>, value: Value, options?: SendOptions): Promise<void>;
  /** Requests a cancel of any run, by its id. A run that has ended, or does not exist, is not changed. */
  cancel(runId: string, reason?: string): Promise<void>;
  /** Emits an event on a topic. */
  emit<Value>(
    topic: string | TopicType<Value>,
    value: Value,
    options?: EventOptions & { readonly id?: string },
  ): Promise<void>;

  /** Time of the last completion, in epoch ms. The same in every replay. */
  now(): number;
  /** Random number in [0, 1). The same in every replay. */
  random(): number;
  /** Random UUID. The same in every replay. */
  uuid(): string;
  /** Logs a line. Not repeated in replay. */
  log(text: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** A workflow definition: name, version, and a function or a program. */
export interface Workflow<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly version: number;
  readonly options: WorkflowOptions<Input, Output>;
  run(ctx: Ctx<Input>, input: Input): Promise<Output>;
  /** Interprets the runs instead of `run`. Null for a code workflow. */
  readonly program: ProgramFactory | null;
}

/** Name, version and types of a workflow, without its code. Enough to start it. */
export interface WorkflowDeclaration<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly version: number;
  readonly options: Pick<WorkflowOptions<Input, Output>, "input">;
  /** Never set in a declaration; carries the types. */
  run?(ctx: Ctx<Input>, input: Input): Promise<Output>;
}

/** A workflow with any input and output. */
export type AnyWorkflow = Workflow;

export interface WorkflowOptions<Input, Output> extends PolicyOptions, CodeOptions {
  /** Standard Schema that checks the input of each start. */
  readonly input?: StandardSchema<unknown, Input>;
  /** Standard Schema that checks the output. A run with an invalid output fails. */
  readonly output?: StandardSchema<unknown, Output>;
  /** Default retry policy of the steps. `false` means one attempt. Default: 3 attempts, 1 s and 2 s apart. */
  readonly retry?: RetryOptions | false;
  /** Version of this definition. Versions can be registered side by side; a run keeps the version it started with. Default 1. */
  readonly version?: number;
}
