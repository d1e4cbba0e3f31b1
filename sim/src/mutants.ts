import type { Mutant } from "./mutant.ts";
import { STORE_MUTANTS } from "./mutants-of-store.ts";

/** Guards of sessions, coordinator and worker. */
const ENGINE_MUTANTS: readonly Mutant[] = [
  {
    name: "effects do not wait for the journal",
    file: "runner/steps.js",
    find: "if (afterSeq <= this.#durableSeq)",
    replace: "if (true)",
    breaks: "R2 no body before earlier records are durable",
  },
  {
    name: "a timeout does not look at the inbox",
    file: "runner/end-waits.js",
    find: "desk.draft.guardInbox(open.inboxSeen);",
    replace: "{}",
    breaks: "I4 what has come goes before what is over",
  },
  {
    name: "replay does not wait for rest",
    file: "runner/session.js",
    find: "this.#hand(next.completed);",
    replace: "this.#hand(next.completed); if (!this.#cursor.done) this.#replay();",
    breaks: "I7 replay is deterministic",
  },
  {
    name: "tries are counted anew after a crash",
    file: "runner/replay-next.js",
    find: "command.attempts = record.attempts;",
    replace: "",
    breaks: "attempts ≤ max",
  },
  {
    name: "a back-off is over after a crash",
    file: "runner/replay-next.js",
    find: "command.retryAt = Number(record.detail);",
    replace: "",
    breaks: "no try early by the store's clock",
  },
  {
    name: "a request to cancel is not heard",
    file: "runner/session.js",
    find: "if (cancel === undefined)",
    replace: "if (cancel !== null)",
    breaks: "I8 the end of a parent reaches its children",
  },
  {
    name: "children of all generations have one id",
    file: "runner/ops/child.js",
    find: "return run.generation === 0 ?",
    replace: "return run.id !== '' ?",
    breaks: "I8 a child is started once per location",
  },
  {
    name: "the parent is not told",
    file: "rules/decide.js",
    find: "if (view.parent === null)",
    replace: "if (view !== null)",
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
    name: "what is held and not known is not taken up",
    file: "runner/workshop.js",
    find: "for (const runId of epochs.keys()) this.arrived(runId);",
    replace: "",
    breaks: "I5 a lost answer to a claim leaves no run stuck",
  },
  {
    name: "what came while a run was read is missed",
    file: "runner/workshop.js",
    find: "if (again) this.arrived(runId);",
    replace: "",
    breaks: "I5 nothing that came is missed",
  },
  {
    name: "a late answer to a claim drops its session",
    file: "worker.js",
    find: "if (this.#sessions.get(run.id)?.run.epoch === run.epoch)",
    replace: "if (false)",
    breaks: "I1, I3 one session a run",
  },
  {
    name: "a late answer to a beat drops what was claimed since",
    file: "worker.js",
    find: "if (session.resting) this.#workshop.forget",
    replace: "if (true) this.#workshop.forget",
    breaks: "I3 a body runs again only after a crash or a loss",
  },
  {
    name: "an answer moves the knowledge of another session on",
    file: "coordinator/coordinator.js",
    find: "view !== knew ||",
    replace: "",
    breaks: "I1 records follow each other",
  },
  {
    name: "a session in the place of another starts its bodies anew",
    file: "runner/steps.js",
    find: "if (this.#takesUp(step))",
    replace: "if (false)",
    breaks: "I3 a body runs again only after a crash or a loss",
  },
];

export const MUTANTS: readonly Mutant[] = [...STORE_MUTANTS, ...ENGINE_MUTANTS];
