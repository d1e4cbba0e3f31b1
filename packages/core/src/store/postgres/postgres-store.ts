import { isTerminal, STATUSES } from "../../model/run.ts";
import { type Answer, endedBy, type Transition } from "../../model/transition.ts";
import { distinctWorkflows, type WorkflowRef } from "../../model/workflow-ref.ts";
import { applyTransition } from "../../rules/apply.ts";
import { endPending } from "../../rules/apply-event.ts";
import type { Batch } from "../../rules/batch.ts";
import { prunedRuns } from "../../rules/prune.ts";
import type {
  ClaimedRun,
  ClaimRequest,
  Heartbeat,
  LapsedRun,
  OwnedRun,
  Pruned,
  PruneRequest,
} from "../../rules/tables.ts";
import { DatabaseClock } from "../database-clock.ts";
import type { Commit, DueRun, Hint, Loaded, Reader, Store, StoreWorld } from "../store.ts";
import { fromColumn, toColumn } from "../text-column.ts";
import { batchedLoads } from "./batched-reads.ts";
import { writeWithin } from "./caller-transaction.ts";
import { CommitWriter, type Decide, type Decision } from "./commit-writer.ts";
import type { Database } from "./database.ts";
import { channelOf, Notifications } from "./notifications.ts";
import { PostgresReader } from "./postgres-reader.ts";
import { HeadCache } from "./row-cache.ts";
import { claimedOf, ownedRunsOf, type RunValues, runOfValues } from "./run-rows.ts";
import { checkCompatible, checkServer, migrate } from "./schema/migrations.ts";
import type { Stage } from "./stage.ts";
import { STORE_SQL } from "./statements.ts";
import { writeWithCode } from "./transactions.ts";

/** How many runs of expired workers one heartbeat releases. */
const FREED_MAX = 1_000;
/** How many transactions with user code run at a time. */
const CODE_COMMITS_MAX = 4;
/** With this many transitions, the server takes about as long for a commit as this process takes for its answers. */
const BATCH_MAX = 400;
/** How many runs are cached from one commit to the next. */
const CACHED_RUNS_MAX = 20_000;

/** How long `close` waits for statements in flight and for the server to end its connections. */
const CLOSE_MS_MAX = 2_000;

const EMPTY_COMMIT: Commit = { answers: [], wakes: [] };
const UNDECIDED: Answer = { kind: "refused", reason: "notFound" };

export interface PostgresStoreParts {
  readonly database: Database;
  /** Which clock decides: the database's, or that of the world passed to `open`. */
  readonly clock: "database" | "process";
  readonly listen: boolean;
  readonly allowAsyncCommit: boolean;
}

/** The second item is the oldest schema version whose code can use the schema. A newer release may have raised it since `open`. */
type HeartbeatReply = readonly [Heartbeat & { readonly now: number }, number];

/** A store over one schema of a PostgreSQL database, which any number of processes may share. */
export class PostgresStore implements Store {
  readonly exactClock: boolean;
  readonly transactions = "apart";
  readonly batchMax = BATCH_MAX;
  /** One batch is being written, the next is sent ahead, and two more collect while these are answered. */
  readonly busyMax = 4 * BATCH_MAX;
  readonly reader: Reader;
  readonly #parts: PostgresStoreParts;
  readonly #database: Database;
  readonly #cache = new HeadCache(CACHED_RUNS_MAX, (owner) => this.#workers.has(owner));
  readonly #notifications: Notifications;
  readonly #loads: ReturnType<typeof batchedLoads>;
  readonly #writer: CommitWriter;
  /** Workers of this process. Their runs need no hint. */
  readonly #workers = new Set<string>();
  /** Claimed runs that have not ended here, the newest last. Another process may have started them and wait for their results. */
  readonly #claimed = new Set<string>();
  readonly #codeQueue: (() => void)[] = [];
  #codeCommits = 0;
  #world: StoreWorld | null = null;
  #clock: DatabaseClock | null = null;

  constructor(parts: PostgresStoreParts) {
    const { database } = parts;
    const channel = channelOf(database.schema);
    this.#parts = parts;
    this.#database = database;
    this.exactClock = parts.clock === "process";
    this.reader = new PostgresReader(database);
    this.#notifications = new Notifications(database, channel);
    this.#loads = batchedLoads(database, (known) => this.#cache.learnRead(known));
    this.#writer = new CommitWriter({
      database,
      cache: this.#cache,
      channel,
      now: () => this.now(),
      fixedNow: () => this.#fixedNow(),
      onServerTime: (present) => this.#clock?.onServerTime(present),
    });
  }

  async open(world: StoreWorld): Promise<void> {
    this.#world = world;
    this.#clock = new DatabaseClock(() => world.now());
    await this.#database.open();
    await checkServer(this.#database, this.#parts);
    await migrate(this.#database);
    const { now, name } = (await this.#database.call(STORE_SQL.open, [])) as {
      readonly now: number;
      readonly name: string;
    };
    this.#clock.onServerTime(now);
    this.#notifications.setSender(name);
  }

  now(): number {
    if (this.#world === null || this.#clock === null) throw new Error("the store is not open");
    return this.exactClock ? this.#world.now() : this.#clock.now();
  }

  async readClock(): Promise<number> {
    if (this.exactClock) return this.now();
    const present = (await this.#database.call(STORE_SQL.now, [])) as number;
    this.#clock?.onServerTime(Math.floor(present));
    return present;
  }

  async commit(transitions: readonly Transition[]): Promise<Commit> {
    if (transitions.length === 0) return EMPTY_COMMIT;
    const decide = (batch: Batch, stage: Stage): Decision<Commit> => this.#apply(transitions, batch, stage);
    const commit = await (transitions.some(hasCode) ? this.#commitWithCode(decide) : this.#writer.write(decide));
    const ended = this.#claimedEnds(transitions, commit.answers);
    this.#notifications.send(
      commit.wakes.filter(({ owner }) => owner === null || !this.#workers.has(owner)),
      ended,
    );
    for (const runId of ended) this.#claimed.delete(runId);
    return commit;
  }

  async commitWithin(tx: unknown, transitions: readonly Transition[]): Promise<Commit> {
    return writeWithin(this.#writer, tx, (batch, stage) => {
      const decision = this.#apply(transitions, batch, stage);
      return { ...decision, hints: this.#notifications.messages(decision.result.wakes, []) };
    });
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimedRun[]> {
    const { worker, limit, suspects, newestFirst = false } = request;
    this.#workers.add(worker);
    const values = [
      this.#fixedNow(),
      toColumn(worker),
      limit,
      ...columnsOf(distinctWorkflows(request.workflows)),
      suspects?.claims ?? null,
      suspects?.held ?? 0,
      suspects?.max ?? null,
      suspects?.idle ?? false,
    ];
    const statement = newestFirst ? STORE_SQL.claimNewest : STORE_SQL.claim;
    const rows = ((await this.#database.call(statement, values)) as [RunValues, boolean][] | null) ?? [];
    for (const [row] of rows) this.#cache.learnRead(claimedOf(row));
    const runs = rows.map(([row, isSuspect]) => ({ ...runOfValues(row), isSuspect }));
    for (const { id } of runs) this.#claimed.add(id);
    this.#forgetOldestClaims();
    return runs;
  }

  async dueRuns(worker: string, limit: number): Promise<readonly DueRun[]> {
    const values = [this.#fixedNow(), toColumn(worker), limit];
    const rows = (await this.#database.call(STORE_SQL.due, values)) as [string, number][] | null;
    return (rows ?? []).map(([id, inboxLast]) => ({ id: fromColumn(id), inboxLast }));
  }

  async ownedRunning(worker: string): Promise<readonly OwnedRun[]> {
    return ownedRunsOf(await this.#database.call(STORE_SQL.owned, [toColumn(worker)]));
  }

  async nextDueAt(worker: string, workflows: readonly WorkflowRef[]): Promise<number | null> {
    const values = [toColumn(worker), ...columnsOf(workflows)];
    return (await this.#database.call(STORE_SQL.nextDueAt, values)) as number | null;
  }

  async load(runId: string, afterSeq?: number, afterEntry = 0): Promise<Loaded | null> {
    return await this.#loads.read({ runId, afterSeq: afterSeq ?? null, afterEntry });
  }

  async heartbeat(
    worker: string,
    leaseMs: number,
    workflows?: readonly WorkflowRef[],
    lapsed: readonly LapsedRun[] = [],
  ): Promise<Heartbeat> {
    this.#workers.add(worker);
    const text = workflows === undefined ? null : JSON.stringify(workflows);
    const names = columnsOf(workflows ?? []);
    const values = [this.#fixedNow(), toColumn(worker), leaseMs, text, FREED_MAX, ...names, ...lapsedColumns(lapsed)];
    const [reply, compatibleFrom] = (await this.#database.call(STORE_SQL.heartbeat, values)) as HeartbeatReply;
    checkCompatible(this.#database.schema, compatibleFrom);
    const { now, owned: held, ...rest } = reply;
    this.#clock?.onServerTime(now);
    return { ...rest, owned: ownedRunsOf(held) };
  }

  async retire(worker: string): Promise<void> {
    await this.#database.call(STORE_SQL.retire, [this.#fixedNow(), toColumn(worker)]);
  }

  async prune(request: PruneRequest): Promise<Pruned> {
    const { runsEndedBefore, runId, receivedBefore, lettersBefore = null, limit } = request;
    const statuses = (request.statuses ?? STATUSES).filter(isTerminal);
    if (runId !== undefined) {
      const one = [toColumn(runId), runsEndedBefore, statuses];
      return prunedRuns((await this.#database.call(STORE_SQL.pruneOne, one)) as number);
    }
    const expired = await this.#expire(limit);
    const values = [runsEndedBefore, statuses, receivedBefore, lettersBefore, limit];
    const pruned = (await this.#database.call(STORE_SQL.prune, values)) as Pick<Pruned, "runs" | "entries" | "letters">;
    const { runs, entries, letters } = pruned;
    return { runs, entries, expired, letters, done: Math.max(runs, expired, entries, letters) < limit };
  }

  watch(listener: (hint: Hint) => void): () => void {
    if (this.#world === null) throw new Error("the store is not open");
    return this.#parts.listen ? this.#notifications.watch(this.#world, listener) : () => undefined;
  }

  async close(): Promise<void> {
    this.#notifications.close();
    const stopWaiting = this.#world?.every(CLOSE_MS_MAX, () => this.#database.abort());
    try {
      await this.#notifications.sent();
      await this.#database.close();
    } finally {
      stopWaiting?.();
    }
  }

  /** An error after a missing row is ignored: the whole decision is discarded. */
  #apply(transitions: readonly Transition[], batch: Batch, stage: Stage): Decision<Commit> {
    let notBefore: number | null = null;
    const answers = transitions.map((transition) => {
      try {
        const answer = applyTransition(batch, transition);
        if (
          transition.kind === "append" &&
          transition.notBefore !== null &&
          answer.kind === "applied" &&
          !answer.again
        ) {
          notBefore = Math.max(notBefore ?? 0, transition.notBefore);
        }
        return answer;
      } catch (error) {
        if (!stage.undecided) throw error;
        return UNDECIDED;
      }
    });
    return { result: { answers, wakes: batch.wakes }, notBefore, hints: [] };
  }

  /** Runs that end in this batch and that another process may wait for. */
  #claimedEnds(transitions: readonly Transition[], answers: readonly Answer[]): readonly string[] {
    if (this.#claimed.size === 0) return [];
    return transitions.flatMap((transition, index) => {
      const runId = answers[index]?.kind === "applied" ? endedBy(transition) : null;
      return runId !== null && this.#claimed.has(runId) ? [runId] : [];
    });
  }

  /** Other workers may have ended them. */
  #forgetOldestClaims(): void {
    for (const oldest of this.#claimed) {
      if (this.#claimed.size <= CACHED_RUNS_MAX) return;
      this.#claimed.delete(oldest);
    }
  }

  /** At most CODE_COMMITS_MAX at a time: each holds a connection while its code waits. */
  async #commitWithCode(decide: Decide<Commit>): Promise<Commit> {
    while (this.#codeCommits >= CODE_COMMITS_MAX) await new Promise<void>((resolve) => this.#codeQueue.push(resolve));
    this.#codeCommits += 1;
    try {
      return await writeWithCode(this.#writer, decide);
    } finally {
      this.#codeCommits -= 1;
      this.#codeQueue.shift()?.();
    }
  }

  /** Expired events become dead letters. */
  async #expire(limit: number): Promise<number> {
    const ids = (await this.#database.call(STORE_SQL.expired, [this.#fixedNow(), limit])) as string[] | null;
    if (ids === null) return 0;
    return this.#writer.write((batch, stage) => {
      let expired = 0;
      for (const id of ids.map(fromColumn)) {
        const event = stage.events.get(id);
        if (event === null || !event.pending || event.expireAt > batch.now) continue;
        expired += 1;
        try {
          endPending(batch, event, "expired");
        } catch (error) {
          if (stage.wanted.size === 0) throw error;
        }
      }
      return { result: expired, notBefore: null, hints: [] };
    });
  }

  #fixedNow(): number | null {
    return this.exactClock ? this.now() : null;
  }
}

/** Their names, and their versions. */
function columnsOf(workflows: readonly WorkflowRef[]): [string[], number[]] {
  return [workflows.map(({ name }) => toColumn(name)), workflows.map(({ version }) => version)];
}

/** Ids, epochs, and whether the run is blameless. Nulls if there is none, so that the function skips its statement. */
function lapsedColumns(
  runs: readonly LapsedRun[],
): readonly [string[], number[], boolean[]] | readonly [null, null, null] {
  if (runs.length === 0) return [null, null, null];
  return [
    runs.map(({ id }) => toColumn(id)),
    runs.map(({ epoch }) => epoch),
    runs.map(({ isBlameless }) => isBlameless),
  ];
}

function hasCode(transition: Transition): boolean {
  return transition.kind === "append" && transition.transaction !== null;
}
