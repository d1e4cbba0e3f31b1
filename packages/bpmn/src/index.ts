export { type AtOption, Bpmn, type BpmnOptions, createBpmn, type PublishOptions, type ResourceView } from "./bpmn.ts";
export { BpmnError } from "./bpmn-error.ts";
export { bpmnToGraphs, type ConvertGraphOptions, graphToBpmn } from "./definition/convert-graph.ts";
export { rewriteBpmn } from "./definition/moddle.ts";
export { type IgnoredExtension, type Problem, problemsOf } from "./definition/problem.ts";
export { readBpmn } from "./definition/read-bpmn.ts";
export type { Graph, GraphConnection, GraphNode } from "./definition/read-graph.ts";
export type { Deployed, DeployOptions } from "./deployment/definitions.ts";
export type { DeployedFiles, DeployFilesOptions } from "./deployment/deploy-files.ts";
export type {
  Deployment,
  DeploymentAction as DeploymentAct,
  DeploymentState,
  DeploymentView,
} from "./deployment/deployments.ts";
export type { ResolveFile, ResourceFile } from "./deployment/read-resource.ts";
export type { DeployedResource, ResourceType } from "./deployment/resources.ts";
export type { StartProcessOptions } from "./deployment/start-process.ts";
export { decide } from "./dmn/decide.ts";
export type { DecisionModel, DecisionProblem } from "./dmn/decision-model.ts";
export { type DecisionSource, inspectDecisions, readDecisions } from "./dmn/read-decisions.ts";
export type { ProcessEvent, ProcessEventKind, ProcessEventOf } from "./events/process-events.ts";
export { type Evaluate, evaluateExpression } from "./expressions.ts";
export type { FeelBudget, FeelWorld } from "./feel/evaluation.ts";
export { checkFeel, evaluateFeel, type FeelOptions, type FeelResult, testFeel } from "./feel/feel.ts";
export type { Json } from "./feel/json.ts";
export { temporal } from "./feel/temporal-text.ts";
export type { FeelValue } from "./feel/value.ts";
export type { NodeError } from "./history/node-history.ts";
export type {
  ArrivalView,
  ElementView,
  NodeStatus,
  NodeView,
  ProcessHistory,
  TokenView,
} from "./history/process-history.ts";
export type { TokenStatus, TokenVisit } from "./history/token-history.ts";
export {
  type HttpClient,
  type HttpClientOptions,
  type HttpRequest,
  type HttpResponse,
  httpClient,
} from "./http/http-client.ts";
export type { HttpRules } from "./http/http-rules.ts";
export type { AskOptions, TaskOutcome } from "./human/ask-task.ts";
export type { Forms } from "./human/forms.ts";
export {
  type ByOptions,
  type ClaimOptions,
  type HumanTask,
  HumanTasks as Tasks,
  humanTasks,
  type TaskEngine,
  type TaskOptions,
} from "./human/human-tasks.ts";
export type { SchemaProblem } from "./human/json-schema.ts";
export type {
  NewTask,
  TaskAction as TaskAct,
  TaskComment,
  TaskDocument as TaskBody,
  TaskState,
} from "./human/task-document.ts";
export type { TaskOrder, TaskQuery, TaskUser } from "./human/task-queries.ts";
export { advance, Instance } from "./machine/advance.ts";
export type { Observer, TokenId } from "./machine/observer.ts";
export type {
  AdvanceResult as Advanced,
  Command,
  Ending,
  Incident,
  IncidentKind,
  MachineEvent,
  OperatorAction as Act,
  Outgoing as Told,
  RetryPoint as Again,
  Role,
  Row,
  StartedBy,
  State,
  Subscription,
  Undoable,
  Variables,
} from "./machine/state.ts";
export type { Environment } from "./machine/working-state.ts";
export type { TaskFacts, TaskForm } from "./model/human-task.ts";
export type {
  ActivityElement,
  Binding,
  CallElement,
  Element,
  ElementType,
  EventElement,
  EventTrigger,
  Expression,
  Flow,
  GatewayElement,
  InstanceThrow,
  Listener,
  Mapping,
  ModelForm,
  MultiInstance,
  Process,
  RetrySetting,
  ScopeGraph,
  StandardLoop,
  SubProcessElement,
  TaskElement,
  TaskType,
} from "./model/process.ts";
export type { ProcessExplanation } from "./operations/explain-process.ts";
export type { FindQuery } from "./operations/find-runs.ts";
export type { MigratedRun, MigrateRunsOptions, RunMigrationReport } from "./operations/migrate-runs.ts";
export type { ElementMap, MigrationProblem } from "./operations/migration-check.ts";
export type { OpenSubscription } from "./operations/open-subscriptions.ts";
export {
  ProcessOperations as Operate,
  type RetriedIncident,
  type RetryReport,
} from "./operations/process-operations.ts";
export type { ActiveNode, IncidentView, ProcessView, WaitingTask } from "./operations/process-view.ts";
export type { RollbackOptions, RollbackTarget, SnapshotOptions, SnapshotView } from "./operations/rollback.ts";
export type { IncomingFlow, WaitingJoin } from "./operations/waiting-joins.ts";
export type { Handlers, Job, NodeTypes, TaskHandler, TypeHandlers } from "./program/handlers.ts";
export type { ProcessEngine } from "./program/process-engine.ts";
export { OVERDUE_TOPIC, type OverdueTask } from "./program/topics.ts";
export {
  type ScriptEngine,
  type ScriptEngineOptions,
  type ScriptRequest,
  scriptEngine,
} from "./script/script-engine.ts";
export type { ScriptLimits, ScriptLine } from "./script/script-job.ts";
export { type DecisionTaskOptions, decisionTasks } from "./tasks/decision-tasks.ts";
export { httpTasks } from "./tasks/http-tasks.ts";
export { type ScriptTaskOptions, scriptTasks } from "./tasks/script-tasks.ts";
export { readXml } from "./xml/read-xml.ts";
export type { XmlElement, XmlLimits } from "./xml/xml-element.ts";
