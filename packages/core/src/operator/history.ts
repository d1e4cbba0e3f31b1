import type { RunHandle } from "../engine/run-handle.ts";
import { runNotFound } from "../engine/runs.ts";
import { PawlError } from "../model/errors.ts";
import type { InboxEntry } from "../model/inbox.ts";
import { checkTarget, endedGenerationOf } from "../model/names.ts";
import type { OperatorActionKind } from "../model/operator-action.ts";
import { kinds, optionTable, readArgument, readOptions } from "../model/option-check.ts";
import type { NewRecord } from "../model/record.ts";
import { isTerminal, type Run } from "../model/run.ts";
import { awaitedChildren } from "../rules/awaited-children.ts";
import type { Cut } from "../rules/cut-journal.ts";
import { failurePayload } from "../runner/failure-payload.ts";
import {
  ACT_KINDS,
  type ActOptions,
  actionId,
  actionRecord,
  earlierResult,
  type Planned,
  type RewindOptions,
  type Rewound,
  type WholeRun,
  wholeRun,
} from "./action.ts";
import type { ControlParts } from "./controls.ts";
import { FORK_OPTIONS, type ForkOptions, forkedRun } from "./fork.ts";
import {
  LOCATION_MAP,
  type LocationMap,
  MIGRATE_OPTIONS,
  type MigrateOptions,
  type Migration,
  planMigration,
} from "./migrate.ts";
import { isBeingCancelled, planRetry } from "./plan-retry.ts";
import { planRestart, RESTART_OPTIONS, type RestartOptions } from "./restart.ts";
import {
  actionTime,
  cancelPosts,
  cutOf,
  endsOf,
  keptActions,
  messagesIn,
  seenOf,
  startedIn,
  undoAfter,
} from "./rewind.ts";

/** How often an action is attempted on a run that keeps changing. From the second attempt on, the run is held first. */
const ATTEMPTS_MAX = 5;
/** How long no worker can claim a held run. */
const HOLD_MS = 2_000;

const REWIND_OPTIONS = optionTable<RewindOptions>("the call", {
  ...ACT_KINDS,
  children: kinds.oneOf("cancel", "detach"),
  messages: kinds.either(kinds.oneOf("redeliver", "drop"), kinds.callback),
});

/** Whether a message or event that a dropped record received returns to the inbox. */
function isKept({ messages = "redeliver" }: RewindOptions, { kind, name }: Pick<InboxEntry, "kind" | "name">): boolean {
  if (typeof messages === "string") return messages === "redeliver";
  return messages({ kind: kind === "event" ? "event" : "message", name });
}

/** A place in a journal: a location, or a seq. */
const AT = kinds.either(kinds.text, kinds.integer(0));
const VERSION = kinds.integer(1);

/** Operator actions that change the journal of a run: rewind, retry, migrate, restart. And fork, which copies it. */
export class History {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  async rewind(runId: string, at: string | number, given: RewindOptions | undefined): Promise<Rewound> {
    readArgument(AT, at, "at");
    const options = readOptions(REWIND_OPTIONS, given);
    return await this.act(runId, { kind: "rewind", target: String(at) }, options, (loaded, id) =>
      this.#planCut(
        "rewind",
        loaded,
        cutOf({ kind: "rewind", runId, at }, loaded.records),
        { id, target: String(at) },
        options,
      ),
    );
  }

  async retry(runId: string, given: RewindOptions | undefined): Promise<Rewound> {
    const options = readOptions(REWIND_OPTIONS, given);
    return await this.act(runId, { kind: "retry", target: "failure" }, options, async (loaded, id) => {
      const { codec, worker } = this.#parts;
      const parts = { codec, reader: worker.reader, load: (child: string) => this.#load(child) };
      const { cut, reopened } = await planRetry(parts, loaded);
      // Before this run: a repeated retry finds a child that was reopened and has ended since.
      for (const child of reopened) await this.#reopenChild(child, { ...options, id });
      return await this.#planCut("retry", loaded, cut, { id, target: "failure", reopened }, options);
    });
  }

  /** Retries a child with its parent. It may have been reopened by another call meanwhile. */
  async #reopenChild(child: string, options: RewindOptions): Promise<void> {
    try {
      await this.retry(child, options);
    } catch (error) {
      if (!(error instanceof PawlError) || error.code !== "RUN_NOT_FAILED") throw error;
    }
  }

  async fork<Output>(
    runId: string,
    at: string | number | null,
    given: ForkOptions | undefined,
  ): Promise<RunHandle<Output>> {
    const { submit, worker, publisher, runs } = this.#parts;
    readArgument(kinds.nullable(AT), at, "at");
    const options = readOptions(FORK_OPTIONS, given);
    const loaded = await this.#load(checkTarget(runId));
    const { run, history } = await forkedRun(this.#parts, loaded, at, options);
    const outcome = await submit({ kind: "start", run, history });
    if (outcome.kind === "exists") {
      const which = `it is not this fork of ${runId} at ${at ?? "its end"}`;
      throw new PawlError("RUN_EXISTS", `run ${run.id} already exists, and ${which}; use another id`);
    }
    publisher.plain("run.started", run);
    worker.requestPoll();
    return runs.handle<Output>(run.id);
  }

  async migrate(
    runId: string,
    version: number,
    givenMap: LocationMap | undefined,
    given: MigrateOptions | undefined,
  ): Promise<Migration> {
    readArgument(VERSION, version, "version");
    const map = readArgument(LOCATION_MAP, givenMap ?? {}, "map");
    const options = readOptions(MIGRATE_OPTIONS, given);
    const target = `version ${version}`;
    const plan = (loaded: WholeRun, id: string): Promise<Planned<Migration>> =>
      planMigration(this.#parts, loaded, { version, map, id, target }, options);
    if (options.dryRun === true) return (await plan(await this.#load(checkTarget(runId)), "dry run")).result;
    return await this.act(runId, { kind: "migrate", target }, options, plan);
  }

  async restart<Result>(runId: string, version: number, given: RestartOptions<Result>): Promise<Result> {
    readArgument(VERSION, version, "version");
    const options = readOptions<RestartOptions<Result>>(RESTART_OPTIONS, given);
    const target = `restart in version ${version}`;
    return await this.act(runId, { kind: "migrate", target }, options, (loaded, id) =>
      planRestart(this.#parts, loaded, { version, id, target }, options),
    );
  }

  /**
   * Loads a run, lets `plan` compute the change, and submits it. The store refuses the change if the run has changed since the load;
   * then it is planned again. A repeated call with the same id returns the result of the first.
   */
  async act<Result>(
    runId: string,
    { kind, target }: { readonly kind: OperatorActionKind; readonly target: string },
    options: ActOptions,
    plan: (loaded: WholeRun, id: string) => Promise<Planned<Result>>,
  ): Promise<Result> {
    const { submit, codec, config, worker } = this.#parts;
    const run = checkTarget(runId);
    const ended = endedGenerationOf(run);
    if (ended !== null) throw replaced(kind, ended);
    const id = actionId(options, () => config.world.random.id(config.store.now()));
    for (let attempt = 1; attempt <= ATTEMPTS_MAX; attempt += 1) {
      if (attempt > 1) await this.#hold(run);
      const loaded = await this.#load(run);
      const before = earlierResult<Result>(codec, loaded.records, { id, kind, target });
      if (before !== null) return before;
      if (loaded.run.undo === "underWay" && !isTerminal(loaded.run.status))
        throw new PawlError("RUN_UNDOING", `run ${run} is compensating; ${kind} it after it has ended`);
      const { change, posts, version, undo, result, restart } = await plan(loaded, id);
      const journal = { ...change, seen: seenOf(loaded) };
      const { epoch } = loaded.run;
      // Not the action's id: if a concurrent call with that id wins, this one must be refused and read the winner's result.
      const opId = config.world.random.id(config.store.now());
      const discard = worker.capture(run);
      const op = { kind: "rewrite", runId: run, opId, epoch, journal, version, undo, posts } as const;
      const outcome = await submit(restart === undefined ? op : { ...op, restart });
      if (outcome.kind === "notFound") throw runNotFound(run);
      if (outcome.kind === "done") {
        this.#reopened(loaded.run, kind, discard);
        return result;
      }
    }
    throw new PawlError("RUN_BUSY", `${kind} of run ${run} failed: the run kept changing; pause it and try again`);
  }

  async #planCut(
    kind: "rewind" | "retry",
    { run }: WholeRun,
    cut: Cut,
    {
      id,
      target,
      reopened = [],
    }: { readonly id: string; readonly target: string; readonly reopened?: readonly string[] },
    options: RewindOptions,
  ): Promise<Planned<Rewound>> {
    const { codec, config, worker } = this.#parts;
    const now = config.store.now();
    const children = startedIn(cut.dropped);
    const messages = messagesIn(codec, cut.dropped).filter(({ kind, name }) => isKept(options, { kind, name }));
    const { ends, open } = await endsOf(kind, worker.reader, awaitedChildren(cut.kept));
    // The end of a child that is being cancelled with the run would fail it again.
    for (const child of isTerminal(run.status) ? open : [])
      if (child.parent?.onClose === "cancel" && (await isBeingCancelled(worker.reader, child)))
        throw childOpen(kind, run.id, child.id);
    const dropped = cut.dropped.filter((record) => record.kind !== "operator").length;
    const result: Rewound = { records: dropped, children, reopened, messages: messages.length };
    const reason = new PawlError("RUN_CANCELLED", `parent run ${run.id} was rewound to before this run was started`);
    const earlier = keptActions(cut);
    const at = actionTime([...cut.kept, ...earlier], now);
    const add: readonly NewRecord[] = [...earlier, actionRecord(codec, kind, { id, target, result }, options, at)];
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

  /** Takes the run over and keeps it from being claimed for HOLD_MS, so that it does not change between load and commit. */
  async #hold(runId: string): Promise<void> {
    const { submit, worker, config } = this.#parts;
    const opId = config.world.random.id(config.store.now());
    const discard = worker.capture(runId);
    await submit({ kind: "hold", runId, opId, forMs: HOLD_MS });
    discard(new PawlError("OWNERSHIP_LOST", `an operator is changing the history of run ${runId}`));
  }

  #reopened(run: Run, kind: OperatorActionKind, discard: (reason: Error) => void): void {
    const { worker, publisher } = this.#parts;
    const done = kind === "migrate" ? "migrated" : kind === "retry" ? "retried" : "rewound";
    discard(new PawlError("OWNERSHIP_LOST", `run ${run.id} was ${done}; the result of this step is discarded`));
    publisher.plain("run.reopened", run);
    worker.requestPoll();
  }
}

function replaced(kind: OperatorActionKind, { runId, generation }: { runId: string; generation: number }): PawlError {
  const why = `generation ${generation} of run ${runId} has ended, and the run has started again`;
  return new PawlError("RUN_REPLACED", `cannot ${kind} it: ${why}; fork the generation, or ${kind} the run ${runId}`);
}

function childOpen(kind: OperatorActionKind, runId: string, child: string): PawlError {
  return new PawlError(
    "CHILD_OPEN",
    `cannot ${kind} run ${runId}: its child ${child} is still being cancelled; try again when it has ended`,
  );
}
