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
    name: "tries are counted anew after a crash",
    file: "runner/replay.js",
    find: "command.attempts = record.attempts;",
    replace: "",
    breaks: "attempts ≤ max",
  },
  {
    name: "a back-off is over after a crash",
    file: "runner/replay.js",
    find: "command.retryAt = Number(record.detail);",
    replace: "",
    breaks: "no try early by the store's clock",
  },
  {
    name: "a request to cancel is not heard",
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
    name: "the parent is not told",
    file: "rules/decide.js",
    find: "if (parent === null)",
    replace: "if (id !== null)",
    breaks: "I8 a child's end reaches its parent",
  },
  {
    name: "an unknown outcome is taken for success",
    file: "coordinator/committer.js",
    find: "await this.#store.commit(left)",
    replace:
      "await this.#store.commit(left).catch(() => ({ answers: left.map(() => ({ kind: 'applied', post: { kind: 'queued' }, again: false })), wakes: [] }))",
    breaks: "I4 what was answered has happened",
  },
  {
    name: "a later start of the same run stands for an earlier one",
    file: "worker/start-queue.js",
    find: "this.#latest.get(id) === start && ",
    replace: "",
    breaks: "I2 a run that is known to be lost is not worked on",
  },
  {
    name: "what is held and not known is not taken up",
    file: "worker/session-loader.js",
    find: "if (!this.#parts.pendingStarts.isWaiting(runId, epoch))",
    replace: "if (false)",
    breaks: "I5 a lost answer to a claim leaves no run stuck",
  },
  {
    name: "a late answer to a claim drops its session",
    file: "worker/claimed-runs.js",
    find: "if (sessions.get(run.id)?.run.epoch === run.epoch)",
    replace: "if (false)",
    breaks: "I1, I3 one session a run",
  },
  {
    name: "a lapse drops what is worked on still",
    file: "worker/session-loader.js",
    find: "if (session.isParked)",
    replace: "if (true)",
    breaks: "I3 a body runs again only after a crash or a loss",
  },
  {
    name: "a read from before a lapse counts",
    file: "worker/session-loader.js",
    find: "for (const runId of this.#loading.keys())",
    replace: "for (const runId of [])",
    breaks: "I2 who has heard of a lapse begins nothing of what is lost",
  },
  {
    name: "a timeout does not look at the inbox",
    file: "runner/deadline-append.js",
    find: "inbox: due.some((wait) => wait.arms.length > 0) ? open.inboxSeen : null,",
    replace: "inbox: null,",
    breaks: "I4 what has come goes before what is over",
  },
  {
    name: "a timeout does not look at what is pending",
    file: "runner/deadline-append.js",
    find: "if (!isForEvent(wait) || open.knownToStore >= change)",
    replace: "if (true)",
    breaks: "I4 what was there goes before what is over",
  },
  {
    name: "who was woken is taken for a waiter",
    file: "runner/open-commands.js",
    find: "this.knownToStore = -1;",
    replace: "",
    breaks: "I4 what was there goes before what is over",
  },
  {
    name: "a deadline that was refused drops the session",
    file: "runner/exclusive-append.js",
    find: 'if (deadlines === null || (outcome.reason !== "inbox" && outcome.reason !== "early"))',
    replace: "if (true)",
    breaks: "I3 a body runs again only after a crash or a loss",
  },
  {
    name: "a deadline and a completion take one place",
    file: "runner/deadline-append.js",
    find: "completions.buffer();",
    replace: "",
    breaks: "I1 records follow each other",
  },
  {
    name: "replay does not wait for rest",
    file: "runner/program-driver.js",
    find: "const next = replayStep(this.#cursor, this.#state);",
    replace:
      "let next = replayStep(this.#cursor, this.#state); for (let more = next && replayStep(this.#cursor, this.#state); more; more = replayStep(this.#cursor, this.#state)) { this.#deliver(next); next = more; }",
    breaks: "I7 replay is deterministic",
  },
  {
    name: "at the end of a replay posts are made again",
    file: "runner/replay.js",
    find: "open.close(command);",
    replace: "",
    breaks: "I7 a replay writes nothing",
  },
  {
    name: "at the end of a replay steps are begun",
    file: "runner/program-driver.js",
    find: 'isEnding ? fresh.filter((command) => command.kind === "post") : fresh;',
    replace: "fresh;",
    breaks: "I7 a replay starts no body",
  },
  {
    name: "a snapshot keeps no tries",
    file: "runner/program-driver.js",
    find: "Object.assign(command, this.#snapshot.retries[command.location]);",
    replace: "{}",
    breaks: "attempts ≤ max",
  },
  {
    name: "a snapshot outlives its generation",
    file: "rules/apply-state.js",
    find: 'tables.documents.remove("snapshot", next.id);',
    replace: "",
    breaks: "I7 a generation begins anew",
  },
];

export const MUTANTS: readonly EngineMutant[] = [
  ...STORE_MUTANTS,
  ...ENGINE_MUTANTS,
  ...STRUCTURE_MUTANTS,
  ...HISTORY_MUTANTS,
];
