import type { RunHandle } from "../engine/run-handle.ts";
import { runNotFound } from "../engine/runs.ts";
import { PawlError } from "../model/errors.ts";
import { checkTarget } from "../model/names.ts";
import type { OperatorActionKind } from "../model/operator-action.ts";
import type { NewRecord } from "../model/record.ts";
import { isTerminal, type Run } from "../model/run.ts";
import type { Cut } from "../rules/cut-journal.ts";
import { failurePayload } from "../runner/failure-payload.ts";
import {
  type ActOptions,
  actBefore,
  actId,
  noteAct,
  type Planned,
  type RewindOptions,
  type Rewound,
  type WholeRun,
  wholeRun,
} from "./action.ts";
import type { ControlParts } from "./controls.ts";
import { type ForkOptions, forkedRun } from "./fork.ts";
import { type LocationMap, type MigrateOptions, type Migration, planMigration } from "./migrate.ts";
import { planRestart, type RestartOptions } from "./restart.ts";
import {
  actAt,
  awaitedChildren,
  cancelPosts,
  cutOf,
  endsOf,
  keptActs,
  messagesIn,
  retryCut,
  seenOf,
  startedIn,
  undoAfter,
} from "./rewind.ts";

/** How often a run that has changed meanwhile is read again. From the second time on it is held. */
const TRIES_MAX = 5;
/** How long nobody has a run that is about to be changed. */
const HOLD_MS = 2_000;

/** Moves runs through their own history. */
export class History {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  async rewind(runId: string, at: string | number, options: RewindOptions): Promise<Rewound> {
    return await this.act(runId, { kind: "rewind", target: String(at) }, options, (loaded, id) =>
      this.#planCut("rewind", loaded, cutOf(runId, loaded.records, at), { id, target: String(at) }, options),
    );
  }

  async retry(runId: string, options: RewindOptions): Promise<Rewound> {
    return await this.act(runId, { kind: "retry", target: "failure" }, options, (loaded, id) => {
      const { run, records } = loaded;
      if (run.status !== "failed")
        throw new PawlError("RUN_NOT_FAILED", `run ${run.id} is ${run.status}; only a failed run is retried`);
      const cut = retryCut(this.#parts.codec, run, records);
      return this.#planCut("retry", loaded, cut, { id, target: "failure" }, options);
    });
  }

  async fork<Output>(runId: string, at: string | number | null, options: ForkOptions): Promise<RunHandle<Output>> {
    const { submit, worker, news, runs } = this.#parts;
    const loaded = await this.#load(checkTarget(runId));
    const { run, history } = await forkedRun(this.#parts, loaded, at, options);
    const outcome = await submit({ kind: "start", run, history });
    if (outcome.kind === "exists") {
      const what = `run ${run.id} exists, and is no fork of ${runId} at ${at ?? "its end"}`;
      throw new PawlError("RUN_EXISTS", `${what}; nothing was started`);
    }
    news.plain("run.started", run);
    worker.requestPoll();
    return runs.handle<Output>(run.id);
  }

  async migrate(runId: string, version: number, map: LocationMap, options: MigrateOptions): Promise<Migration> {
    checkVersion(version);
    const target = `version ${version}`;
    const plan = (loaded: WholeRun, id: string): Promise<Planned<Migration>> =>
      planMigration(this.#parts, loaded, { version, map, id, target }, options);
    if (options.dryRun === true) return (await plan(await this.#load(checkTarget(runId)), "dry run")).result;
    return await this.act(runId, { kind: "migrate", target }, options, plan);
  }

  async restart<Result>(runId: string, version: number, options: RestartOptions<Result>): Promise<Result> {
    checkVersion(version);
    const target = `restart in version ${version}`;
    return await this.act(runId, { kind: "migrate", target }, options, (loaded, id) =>
      planRestart(this.#parts, loaded, { version, id, target }, options),
    );
  }

  /** Changes the journal of a run as `plan` says, under what was read of it; done again under the same id it answers as before. */
  async act<Result>(
    runId: string,
    { kind, target }: { readonly kind: OperatorActionKind; readonly target: string },
    options: ActOptions,
    plan: (loaded: WholeRun, id: string) => Promise<Planned<Result>>,
  ): Promise<Result> {
    const { submit, codec, config, worker } = this.#parts;
    const run = checkTarget(runId);
    const id = actId(options, () => config.world.random.id(config.store.now()));
    for (let attempt = 1; attempt <= TRIES_MAX; attempt += 1) {
      if (attempt > 1) await this.#hold(run);
      const loaded = await this.#load(run);
      const before = actBefore<Result>(codec, loaded.records, { id, kind, target });
      if (before !== null) return before;
      if (loaded.run.undo === "underWay" && !isTerminal(loaded.run.status))
        throw new PawlError("RUN_UNDOING", `run ${run} undoes what it has done; ${kind} it when it has ended`);
      const { change, posts, version, undo, result, restart } = await plan(loaded, id);
      const journal = { ...change, seen: seenOf(loaded) };
      const { epoch } = loaded.run;
      // Each call is an op of its own: one that another call under the same id was faster than reads what that one did.
      const opId = config.world.random.id(config.store.now());
      const letGo = worker.capture(run);
      const op = { kind: "rewrite", runId: run, opId, epoch, journal, version, undo, posts } as const;
      const outcome = await submit(restart === undefined ? op : { ...op, restart });
      if (outcome.kind === "notFound") throw runNotFound(run);
      if (outcome.kind === "done") {
        this.#reopened(loaded.run, kind, letGo);
        return result;
      }
    }
    throw new PawlError(
      "RUN_BUSY",
      `run ${run} changed each time before the ${kind}; pause it first. Nothing was done`,
    );
  }

  async #planCut(
    kind: OperatorActionKind,
    { run }: WholeRun,
    cut: Cut,
    { id, target }: { readonly id: string; readonly target: string },
    options: RewindOptions,
  ): Promise<Planned<Rewound>> {
    const { codec, config } = this.#parts;
    const now = config.store.now();
    const children = startedIn(cut.dropped);
    const messages = options.messages === "drop" ? [] : messagesIn(codec, cut.dropped);
    const { ends, open } = await endsOf(config.store.reader, awaitedChildren(cut.kept));
    // Whoever has ended is told nothing: the end of a child that is being cancelled with it could come before this is written.
    const closing = isTerminal(run.status) ? open.find(({ parent }) => parent?.onClose === "cancel") : undefined;
    if (closing !== undefined) throw childOpen(kind, run.id, closing.id);
    const dropped = cut.dropped.filter((record) => record.kind !== "operator").length;
    const result: Rewound = { records: dropped, children, messages: messages.length };
    const reason = new PawlError(
      "RUN_CANCELLED",
      `the parent ${run.id} was rewound to a place before this run was started`,
    );
    const acts = keptActs(cut);
    const act = noteAct(codec, kind, { id, target, result }, options, actAt([...cut.kept, ...acts], now));
    const add: readonly NewRecord[] = [...acts, act];
    return {
      change: { cutAfter: cut.kept.at(-1)?.seq ?? run.baseSeq, add, restore: [...ends, ...messages] },
      posts:
        options.children === "detach" ? [] : cancelPosts(children, id, failurePayload(codec, reason, "reason"), now),
      version: null,
      undo: undoAfter(run, cut),
      result,
    };
  }

  async #load(runId: string): Promise<WholeRun> {
    const { worker, config } = this.#parts;
    const loaded = await worker.withRetry(() => config.store.load(runId, 0));
    if (loaded === null) throw runNotFound(runId);
    return wholeRun(loaded);
  }

  /** A run that works without a pause changes faster than it can be read. */
  async #hold(runId: string): Promise<void> {
    const { submit, worker, config } = this.#parts;
    const opId = config.world.random.id(config.store.now());
    const letGo = worker.capture(runId);
    await submit({ kind: "hold", runId, opId, forMs: HOLD_MS });
    letGo(new PawlError("OWNERSHIP_LOST", `the history of run ${runId} is about to be changed`));
  }

  #reopened(run: Run, kind: OperatorActionKind, letGo: (reason: Error) => void): void {
    const { worker, news } = this.#parts;
    const done = kind === "migrate" ? "migrated" : kind === "retry" ? "retried" : "rewound";
    letGo(new PawlError("OWNERSHIP_LOST", `run ${run.id} was ${done}: what this step brings is dropped`));
    news.plain("run.reopened", run);
    worker.requestPoll();
  }
}

function childOpen(kind: OperatorActionKind, runId: string, child: string): PawlError {
  return new PawlError(
    "CHILD_OPEN",
    `run ${runId} has ended, and its child ${child} is about to: ${kind} the run when the child has ended. Nothing was done`,
  );
}

function checkVersion(version: number): void {
  if (Number.isSafeInteger(version) && version >= 1) return;
  throw new PawlError("OPTION_INVALID", `version is ${String(version)}; it has to be a whole number from 1 on`);
}
