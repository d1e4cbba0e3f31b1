import type { EngineMutant } from "./engine-mutant.ts";
import { HISTORY_MUTANTS } from "./history-mutants.ts";
import { STORE_MUTANTS } from "./store-mutants.ts";
import { STRUCTURE_MUTANTS } from "./structure-mutants.ts";

/** Guards of sessions, coordinator and worker. */
const ENGINE_MUTANTS: readonly EngineMutant[] = [
  {
    name: "effects do not wait for the journal",
    file: "runner/step-runner.js",
    find: "if (afterSeq <= this.#durableSeq && !this.#ownershipUnknown)",
    replace: "if (true)",
    breaks: "Session.1 no body before earlier records are durable",
  },
  {
    name: "a claimed run with a history starts without a load",
    file: "worker/session-loader.js",
    find: "hasHistory(run) || ",
    replace: "",
    breaks: "SessionLoader.5 I3 recorded steps are not executed again",
  },
  {
    name: "a claimed run starts without a load when the reply to the claim is late",
    file: "worker/worker-loop.js",
    find: "return !this.#listedSinceClaim && !this.#leaseExpired;",
    replace: "return true;",
    breaks: "SessionLoader.5 I3 a body is executed again only if its process died or lost the run",
  },
  {
    name: "a claimed run starts without a load after a heartbeat listed it",
    file: "worker/worker-loop.js",
    find: "return !this.#listedSinceClaim && !this.#leaseExpired;",
    replace: "return !this.#leaseExpired;",
    breaks: "SessionLoader.5 I3 a body is executed again only if its process died or lost the run",
  },
  {
    name: "attempts are counted from 1 again after a crash",
    file: "runner/replay.js",
    find: "command.attempts = record.attempts;",
    replace: "",
    breaks: "attempts ≤ max",
  },
  {
    name: "a retry delay ends at a crash",
    file: "runner/replay.js",
    find: "command.retryAt = Number(record.detail);",
    replace: "",
    breaks: "no attempt starts early by the store's clock",
  },
  {
    name: "a cancel in the inbox is ignored",
    file: "runner/session.js",
    find: "if (cancel === undefined || this.#driver.cancel(cancel))",
    replace: "if (cancel !== null)",
    breaks: "I8 the end of a parent reaches its children",
  },
  {
    name: "children of all generations have one id",
    file: "runner/program-posts.js",
    find: "return run.generation === 0 ?",
    replace: "return run.id !== '' ?",
    breaks: "I8 a child is started once per location",
  },
  {
    name: "the end of a child is not posted to the parent",
    file: "rules/decide.js",
    find: "if (parent === null)",
    replace: "if (id !== null)",
    breaks: "I8 a child's end reaches its parent",
  },
  {
    name: "an unknown outcome counts as success",
    file: "coordinator/committer.js",
    find: "await this.#store.commit(batch)",
    replace:
      "await this.#store.commit(batch).catch(() => ({ answers: batch.map(() => ({ kind: 'applied', post: { kind: 'queued' }, again: false })), wakes: [] }))",
    breaks: "I4 an accepted request was applied",
  },
  {
    name: "the answer to an earlier start counts for a later start of the same run",
    file: "worker/start-queue.js",
    find: "this.#latest.get(id) === start && ",
    replace: "",
    breaks: "I2 a lost run is not executed",
  },
  {
    name: "owned runs without a session are not loaded",
    file: "worker/session-loader.js",
    find: "if (!this.#parts.pendingStarts.isWaiting(runId, epoch))",
    replace: "if (false)",
    breaks: "I5 no run is stuck after a lost answer to a claim",
  },
  {
    name: "a late answer to a claim drops its session",
    file: "worker/claimed-runs.js",
    find: "if (sessions.get(run.id)?.run.epoch === run.epoch)",
    replace: "if (false)",
    breaks: "I1, I3 a run has one session",
  },
  {
    name: "an expired lease discards working sessions",
    file: "worker/session-loader.js",
    find: "if (session.isParked)",
    replace: "if (true)",
    breaks: "I3 a body runs again only after a crash or a loss",
  },
  {
    name: "a load from before an expired lease is used",
    file: "worker/session-loader.js",
    find: "for (const runId of this.#loading.keys())",
    replace: "for (const runId of [])",
    breaks: "I2 a worker whose lease expired starts no step of a lost run",
  },
  {
    name: "a timeout ignores the inbox",
    file: "runner/deadline-append.js",
    find: "inbox: due.some((wait) => wait.arms.length > 0) ? open.inboxSeen : null,",
    replace: "inbox: null,",
    breaks: "I4 a pending message goes before a timeout",
  },
  {
    name: "a timeout ignores pending events",
    file: "runner/deadline-append.js",
    find: "if (!isForEvent(wait) || open.knownToStore >= change)",
    replace: "if (true)",
    breaks: "I4 a pending entry goes before a timeout",
  },
  {
    name: "a woken run counts as a waiter",
    file: "runner/open-commands.js",
    find: "this.knownToStore = -1;",
    replace: "",
    breaks: "I4 a pending entry goes before a timeout",
  },
  {
    name: "a refused timeout discards the session",
    file: "runner/exclusive-append.js",
    find: 'if (deadlines === null || (outcome.reason !== "inbox" && outcome.reason !== "early"))',
    replace: "if (true)",
    breaks: "I3 a body runs again only after a crash or a loss",
  },
  {
    name: "a timeout and a completion get the same seq",
    file: "runner/deadline-append.js",
    find: "completions.buffer();",
    replace: "",
    breaks: "I1 seqs are consecutive",
  },
  {
    name: "replay does not wait until the program is idle",
    file: "runner/program-driver.js",
    find: "const next = replayStep(this.#cursor, this.#state);",
    replace:
      "let next = replayStep(this.#cursor, this.#state); for (let more = next && replayStep(this.#cursor, this.#state); more; more = replayStep(this.#cursor, this.#state)) { this.#deliver(next); next = more; }",
    breaks: "I7 replay is deterministic",
  },
  {
    name: "the end of a replay repeats posts",
    file: "runner/replay.js",
    find: "open.close(command);",
    replace: "",
    breaks: "I7 a replay writes nothing",
  },
  {
    name: "the end of a replay starts steps",
    file: "runner/program-driver.js",
    find: "fresh.filter(takesEffect)",
    replace: "fresh",
    breaks: "I7 a replay starts no body",
  },
  {
    name: "a run ends before the steps that its code did not await",
    file: "runner/program-driver.js",
    find: "if (this.#isFinishing) return open.size > 0;",
    replace: "if (true) return false;",
    breaks: "ProgramDriver.4 a run completes when its steps are recorded",
  },
  {
    name: "a snapshot contains no attempts",
    file: "runner/program-driver.js",
    find: "Object.assign(command, this.#snapshot.retries[command.location]);",
    replace: "{}",
    breaks: "attempts ≤ max",
  },
  {
    name: "a snapshot is used in the next generation",
    file: "rules/apply-state.js",
    find: 'tables.documents.remove("snapshot", next.id);',
    replace: "",
    breaks: "I7 a generation starts without state",
  },
];

export const MUTANTS: readonly EngineMutant[] = [
  ...STORE_MUTANTS,
  ...ENGINE_MUTANTS,
  ...STRUCTURE_MUTANTS,
  ...HISTORY_MUTANTS,
];
