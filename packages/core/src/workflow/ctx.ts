import type { Duration } from "../model/duration.ts";
import type { LeftoverPolicy } from "../model/inbox.ts";
import type { PolicyOptions } from "../model/policy.ts";
import type { RecordKind } from "../model/record.ts";
import type { RetryOptions } from "../model/retry.ts";
import type { ParentClosePolicy } from "../model/run.ts";
import type { StandardSchema } from "../model/schema.ts";
import type { SqliteTx } from "../model/tx.ts";
import type { StepInfo } from "./command.ts";
import type { EventOptions, MessageType, TopicType } from "./messages.ts";
import type { ProgramFactory } from "./program.ts";
import type { Resource, ResourceOptions } from "./resource.ts";
import type { RollbackHandler, RollbackOptions } from "./rollback.ts";
import type {
  Branches,
  Joined,
  LoopOptions,
  PlainLoopOptions,
  RaceResult,
  ScopeFailure,
  ScopeOptions,
} from "./structure.ts";

export interface StepOptions<Value = unknown> {
  /** `false`: one try. Default: the workflow's, then 3 tries, 1 s apart at first. */
  readonly retry?: RetryOptions | false;
  /** How long one try may take. Default: as long as it likes. */
  readonly timeout?: Duration;
  /** Whether a try that took too long is tried again. Default: the step fails at once. */
  readonly retryOnTimeout?: boolean;
  /** Written with whatever comes next instead of in a commit of its own: cheaper, and run again if a crash comes first. */
  readonly ephemeral?: boolean;
  /** In place of the key made of run and location. */
  readonly idempotencyKey?: string;
  /** Undoes what the completed step did, when the run fails or is cancelled later on. The newest is undone first. */
  readonly rollback?: RollbackHandler<Value> | RollbackOptions<Value>;
}

export interface TryStepOptions<Value = unknown> extends StepOptions<Value> {
  /** Which failures come back as values. Default: all but `rollback`, which is thrown on. */
  readonly catch?: ReadonlyArray<StepFailure["kind"]>;
}

export type TransactionOptions<Value = unknown> = Pick<StepOptions<Value>, "retry" | "idempotencyKey" | "rollback">;

/** Why a step failed for good. */
export interface StepFailure {
  /** `rollback`: the body threw a RollbackError. */
  readonly kind: "critical" | "timeout" | "exhausted" | "rollback";
  readonly step: string;
  readonly error: Error;
}

export type TryResult<Value, Why> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly failure: Why };

/** A message or event that was received. */
export interface Received<Value> {
  readonly timedOut: false;
  readonly value: Value;
  readonly id: string;
  /** When it was sent, epoch ms. */
  readonly sentAt: number;
}

/** The wait's time was up. No payload can be mistaken for it. */
export interface TimedOut {
  readonly timedOut: true;
}

export interface WaitOptions {
  /** Name in the journal. Default: what is waited for. */
  readonly name?: string;
}

export interface WaitWithTimeout extends WaitOptions {
  readonly timeout: Duration;
}

/** What `ctx.select` can wait for. */
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

/** Which arm won, and what it brought. */
export type Selected<Arms> = {
  [Key in keyof Arms & string]: { readonly key: Key; readonly value: SelectValue<Arms[Key]> };
}[keyof Arms & string];

export interface ChildOptions {
  /** Name in the journal, and part of the child's id. Default: the workflow's name. */
  readonly name?: string;
  /** What happens to it when this run ends first. Default `cancel`. */
  readonly onParentClose?: ParentClosePolicy;
  readonly tags?: readonly string[];
}

export interface ChildHandle<Output> {
  readonly runId: string;
  /** Resolves with its output, or rejects with code `CHILD_FAILED` and the child's failure as cause. */
  result(): Promise<Output>;
}

export interface SendOptions {
  /** Makes sending it again harmless. Default: made of run and location. */
  readonly id?: string;
  /** What becomes of it if the target ends without having received it. Default `discard`. */
  readonly onTargetTerminated?: LeftoverPolicy;
}

/** What a workflow's code may ask for. Every call that returns a promise is durable: after a crash it gives what it gave. */
export interface Ctx {
  readonly runId: string;
  readonly workflow: string;
  /** How often the run was claimed without making progress; 1 when all is well. */
  readonly attempt: number;
  /** Aborted when the run is cancelled, or lost to another worker. */
  readonly signal: AbortSignal;

  /** Runs `body` once and keeps what it returns. The only place for effects. */
  step<Value>(
    name: string,
    body: (info: StepInfo) => Value,
    options?: StepOptions<Awaited<Value>>,
  ): Promise<Awaited<Value>>;
  /** As `step`, with a failure for good as a value. */
  tryStep<Value>(
    name: string,
    body: (info: StepInfo) => Value,
    options?: TryStepOptions<Awaited<Value>>,
  ): Promise<TryResult<Awaited<Value>, StepFailure>>;

  /**
   * A step whose body runs inside the store's own database transaction, and whose record is committed with what it wrote there:
   * exactly once, whenever the process dies. `tx` is the store's: a `SqliteTx`, or as the body's parameter says.
   */
  transaction<Tx = SqliteTx, Value = unknown>(
    name: string,
    body: (tx: Tx, info: StepInfo) => Value,
    options?: TransactionOptions<Awaited<Value>>,
  ): Promise<Awaited<Value>>;

  /**
   * Acquires something that can't be stored, such as a connection, and gives it back when the run is suspended, ends or is lost.
   * After each resume it is acquired again before the run goes on.
   */
  resource<Value>(name: string, options: ResourceOptions<Value>): Promise<Resource<Value>>;

  sleep(duration: Duration, options?: WaitOptions): Promise<void>;
  sleepUntil(time: Date | number, options?: WaitOptions): Promise<void>;

  /** Waits for a message sent to this run. */
  listen<Value = unknown>(
    message: string | MessageType<Value>,
    options: WaitWithTimeout,
  ): Promise<Received<Value> | TimedOut>;
  listen<Value = unknown>(message: string | MessageType<Value>, options?: WaitOptions): Promise<Received<Value>>;
  /** Waits until `count` messages have come, or time is up: then gives those that are there. */
  listenN<Value = unknown>(
    message: string | MessageType<Value>,
    count: number,
    options?: WaitOptions & { readonly timeout?: Duration },
  ): Promise<{ readonly timedOut: boolean; readonly messages: ReadonlyArray<Received<Value>> }>;
  /** Waits for an event on a topic. */
  awaitEvent<Value = unknown>(
    topic: string | TopicType<Value>,
    options: WaitWithTimeout,
  ): Promise<Received<Value> | TimedOut>;
  awaitEvent<Value = unknown>(topic: string | TopicType<Value>, options?: WaitOptions): Promise<Received<Value>>;
  /** Waits for the first of several things. The losers are only unregistered: their messages stay. */
  select<const Arms extends Readonly<Record<string, SelectArm>>>(
    arms: Arms,
    options?: WaitOptions,
  ): Promise<Selected<Arms>>;

  /**
   * Runs all branches side by side, each to its end, and gives what each gave. Where some fail, it rejects with a `JoinError`
   * that holds every branch's error.
   */
  join<const All extends Branches<Ctx>>(name: string, branches: All): Promise<Joined<All>>;
  /**
   * Runs all branches side by side; the first that succeeds wins, whatever it gives. The others are ended: their signals are
   * aborted and they start nothing more. Where all fail, it rejects with a `RaceError`.
   */
  race<const All extends Branches<Ctx>>(name: string, branches: All): Promise<RaceResult<All>>;
  /** Rounds with a state, for as long as you like: the journal keeps the state and the last rounds, not every round there was. */
  loop<State, Value>(options: LoopOptions<Ctx, State, Value>): Promise<Value>;
  loop<Value>(options: PlainLoopOptions<Ctx, Value>): Promise<Value>;
  /** A scope of its own names, with a failure in it as a value. */
  try<Value>(
    name: string,
    run: (ctx: Ctx) => Value,
    options?: ScopeOptions,
  ): Promise<TryResult<Awaited<Value>, ScopeFailure>>;

  /** For code that changes under runs: `latest` for a run that comes here first, what it went by for one that was here before. */
  getVersion(name: string, latest: number): Promise<number>;
  /** Something of this name and kind was here in earlier code; runs whose journal has it go past it. */
  removed(name: string, kind: RecordKind): void;

  /** Starts a run of another workflow and waits for its output. */
  child<Input, Output>(
    workflow: Workflow<Input, Output>,
    input: Input,
    options: ChildOptions & { readonly propagateFailure: false },
  ): Promise<Output | undefined>;
  child<Input, Output>(
    workflow: Workflow<Input, Output>,
    input: Input,
    options?: ChildOptions & { readonly propagateFailure?: boolean },
  ): Promise<Output>;
  /** Starts a run of another workflow and goes on. */
  startChild<Input, Output>(
    workflow: Workflow<Input, Output>,
    input: Input,
    options?: ChildOptions,
  ): Promise<ChildHandle<Output>>;
  /** Ends this generation and begins the next: the same run and inbox, a fresh journal. Never returns. */
  continueAs(input: unknown): Promise<never>;
  continueAs<Input, Output>(workflow: Workflow<Input, Output>, input: Input): Promise<never>;

  /** A point of no return: what was done before it is not undone any more, whatever comes. Durable before anything after it begins. */
  rollbackCheckpoint(name: string): Promise<void>;

  /** Sends a message to a run. What can't be delivered becomes a dead letter. */
  send<Value>(runId: string, message: string | MessageType<Value>, value: Value, options?: SendOptions): Promise<void>;
  /** Emits an event on a topic. */
  emit<Value>(
    topic: string | TopicType<Value>,
    value: Value,
    options?: EventOptions & { readonly id?: string },
  ): Promise<void>;

  /** The time of the last completion, epoch ms: the same in every replay. */
  now(): number;
  /** In [0, 1): the same in every replay. */
  random(): number;
  /** The same in every replay. */
  uuid(): string;
  /** Logs once: not again in replay. */
  log(text: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** A registered definition: a name and the function, or the program, that is run durably. */
export interface Workflow<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly version: number;
  readonly options: WorkflowOptions<Input, Output>;
  run(ctx: Ctx, input: Input): Promise<Output>;
  /** Set where the definition is not code: what interprets its runs in place of `run`. */
  readonly program: ProgramFactory | null;
}

/** What has to be known of a workflow to start it: not its code. */
export interface WorkflowDeclaration<Input = unknown, Output = unknown> {
  readonly name: string;
  readonly version: number;
  readonly options: Pick<WorkflowOptions<Input, Output>, "input">;
  /** There where the code is; what is declared has the type of it alone. */
  run?(ctx: Ctx, input: Input): Promise<Output>;
}

/** A workflow of whatever input and output: what lists and registries hold. */
export type AnyWorkflow = Workflow;

export interface WorkflowOptions<Input, Output> extends PolicyOptions {
  /** A Standard Schema; each start is checked by it. */
  readonly input?: StandardSchema<unknown, Input>;
  /** A Standard Schema; a run whose output does not fit fails. */
  readonly output?: StandardSchema<unknown, Output>;
  /** For steps that say nothing of retries. */
  readonly retry?: RetryOptions | false;
  /** Several versions may be registered side by side; a run stays on the one that it was started with. Default 1. */
  readonly version?: number;
}
