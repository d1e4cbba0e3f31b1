export type { CallLimits } from "./engine/call-limit.ts";
export { seededRandom } from "./engine/checked-random.ts";
export { type Client, type ClientOptions, createClient } from "./engine/client.ts";
export type { EngineOptions, World } from "./engine/config.ts";
export type { DeadLetters, DeadLetterView } from "./engine/dead-letters.ts";
export type { DocumentMessage, Documents, DocumentView, NewDocument } from "./engine/documents.ts";
export type { Engine, RunOptions } from "./engine/engine.ts";
export { createEngine } from "./engine/engine.ts";
export type { EngineEvent, EngineEventKind, EventOf } from "./engine/events.ts";
export type { EngineMetrics } from "./engine/failure-log.ts";
export type { OnConflict, StartOptions } from "./engine/op-builders.ts";
export type { CallerOp } from "./engine/op-check.ts";
export type { PruneOptions, PruneReport, RetentionOptions } from "./engine/retention.ts";
export type {
  RecordView,
  ResultOptions,
  RunHandle,
  RunSummary,
  SinceSnapshot,
  WatchOptions,
} from "./engine/run-handle.ts";
export type { RunQuery } from "./engine/run-query.ts";
export type { WithinTx } from "./engine/within-transaction.ts";
export { JoinError, RaceError } from "./model/branch-errors.ts";
export type { Duration } from "./model/duration.ts";
export { CriticalError, ERRORS, type ErrorCode, PawlError, RollbackError } from "./model/errors.ts";
export type { Failure } from "./model/failure.ts";
export type { DeadLetter, InboxEntry, LeftoverPolicy } from "./model/inbox.ts";
export type { ControlOutcome, EmitOutcome, Op, OutcomeOf, Outcomes, SendOutcome } from "./model/op.ts";
export {
  guardArguments,
  kinds,
  notAllowed,
  type OptionKind,
  type OptionKinds,
  type OptionTable,
  openTable,
  optionTable,
  readArgument,
  readOptions,
} from "./model/option-check.ts";
export type { CodecHook, Reading } from "./model/payload.ts";
export type { CodeOptions, LimitName, PolicyOptions } from "./model/policy.ts";
export type { JournalRecord, NewRecord, Outcome, RecordKind, Records, SeqRange } from "./model/record.ts";
export type { PlainRetryOptions, RetryDelay, RetryOptions, RetryPolicy, ShouldRetry } from "./model/retry.ts";
export { RetryAfterError } from "./model/retry-after-error.ts";
export { type RollbackFailure, rollbackFailures } from "./model/rollback-failure.ts";
export type {
  NewRun,
  OpenWait,
  Parent,
  ParentClosePolicy,
  Payload,
  Run,
  RunFacts,
  StartLimits,
  Status,
  TerminalStatus,
  Undo,
  Wait,
  WaitArm,
} from "./model/run.ts";
export type { StandardSchema } from "./model/schema.ts";
export { LIMIT_KINDS, type LimitOptions } from "./model/start-limits.ts";
export type {
  Answer,
  ConsumePolicy,
  DeliverPolicy,
  DocumentAttributes,
  DocumentChange,
  EventPost,
  InTransaction,
  JournalChange,
  MessagePost,
  Post,
  PostAnswer,
  RunHistory,
  RunLife,
  RunState,
  StoredDocument,
  Transition,
  Wake,
} from "./model/transition.ts";
export type { EngineTx, MemoryTx, PostgresTx, SqliteTx, SqliteTxStatement, SqliteTxValue } from "./model/tx.ts";
export type { WorkflowRef } from "./model/workflow-ref.ts";
export type { ActOptions, PauseOptions, ReceivedEntry, RewindOptions, Rewound } from "./operator/action.ts";
export {
  type CheckProgress,
  type CheckReplayOptions,
  checkReplay,
  type ReplayReport,
} from "./operator/check-replay.ts";
export type { DeleteOptions } from "./operator/delete-run.ts";
export type { ChildWaitedFor, Explanation, WaitingFor, Why } from "./operator/explain.ts";
export type { ForkOptions } from "./operator/fork.ts";
export { diff, type JournalDiff } from "./operator/journal-diff.ts";
export type { LocationMap, MigrateOptions, Migration } from "./operator/migrate.ts";
export { endExported, exportRun, type ImportReport, importRun, type MoveOptions } from "./operator/move-run.ts";
export type { RecoveryReport } from "./operator/recover.ts";
export type { ReplayFinding } from "./operator/replay-finding.ts";
export type { ReadRun, RestartOptions, RestartPlan } from "./operator/restart.ts";
export type { ExportedEntry, ExportedRecord, ExportedRun, ExportedSnapshot, RunExport } from "./operator/run-export.ts";
export type {
  ClaimedRun,
  ClaimRequest,
  Heartbeat,
  LapsedRun,
  OwnedRun,
  Pruned,
  PruneRequest,
  SuspectLimit,
} from "./rules/tables.ts";
export { childPost, messagePost, topicPost } from "./runner/program-posts.ts";
export type { Clock } from "./runtime/clock.ts";
export type { EventLoop } from "./runtime/event-loop.ts";
export type { Log, LogLevel } from "./runtime/log.ts";
export type { Random } from "./runtime/random.ts";
export { type MemoryStore, memoryStore } from "./store/memory/memory-store.ts";
export type {
  Commit,
  DocumentQuery,
  DueRun,
  Hint,
  JournalQuery,
  ListQuery,
  Loaded,
  Page,
  PageQuery,
  Reader,
  Store,
  StoreWorld,
  WorkerRow,
} from "./store/store.ts";
export { StoreError } from "./store/store-error.ts";
export type {
  Arm,
  Command,
  Completion,
  MarkCommand,
  PostCommand,
  RollbackInfo,
  StepCommand,
  StepInfo,
  StepRollback,
  WaitCommand,
} from "./workflow/command.ts";
export type {
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
  Workflow,
  WorkflowDeclaration,
  WorkflowOptions,
} from "./workflow/ctx.ts";
export { type EventOptions, type MessageType, message, type TopicType, topic } from "./workflow/messages.ts";
export type {
  BrokenProgram,
  Ending,
  FinalEnding,
  JournalAhead,
  Program,
  ProgramFactory,
  ProgramHost,
  ProgramIncident,
  ResumePoint,
} from "./workflow/program.ts";
export type { AcquireInfo, Resource, ResourceOptions, ResourceRequest } from "./workflow/resource-options.ts";
export type { RollbackHandler, RollbackOptions } from "./workflow/rollback-options.ts";
export {
  type Branches,
  type BranchList,
  type EndlessLoopOptions,
  type Joined,
  Loop,
  type LoopHistory,
  type LoopOptions,
  type LoopStep,
  type MapOptions,
  type PlainLoopOptions,
  type RaceResult,
  type ScopeFailure,
  type ScopeOptions,
} from "./workflow/structure.ts";
export { declareWorkflow, programWorkflow, workflow } from "./workflow/workflow.ts";
