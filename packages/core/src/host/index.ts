export type { KvDriver, KvEntry, KvWrite } from "../store/kv/kv-driver.ts";
export { type LmdbDatabase, lmdbNamespaces } from "../store/kv/lmdb-namespaces.ts";
export { type MemoryDriver, memoryDriver, memoryNamespaces } from "../store/kv/memory-driver.ts";
export type { AlarmRow, Namespaces } from "../store/kv/namespaces.ts";
export { type SqliteConnection, type SqliteQuery, sqliteNamespaces } from "../store/kv/sqlite-namespaces.ts";
export { decodeTuple, encodeTuple, type TupleItem } from "../store/kv/tuple.ts";
export { type HostedRun, hostedRun } from "./hosted-run.ts";
export type { NamespaceOptions } from "./namespace.ts";
export { type HostedResult, type RunningWorkflow, type RunWorkflowOptions, runWorkflow } from "./run-workflow.ts";
