import { PawlError } from "../../model/errors.ts";
import { isTerminal, STATUSES } from "../../model/run.ts";
import type { Answer, Transition, Wake } from "../../model/transition.ts";
import { distinctWorkflows, type WorkflowRef, workflowKey } from "../../model/workflow-ref.ts";
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
import { StoreError } from "../store-error.ts";
import { type HintMessage, type RedisConnection, SilenceGuard } from "./connection.ts";
import {
  type CommitReply,
  type DeliveryReply,
  type DocumentReply,
  type EntryReply,
  type OutboxReply,
  type RunReply,
  readCommit,
  readDocument,
  readEntry,
  readRecords,
  readRun,
  readWake,
} from "./decode-reply.ts";
import { encodeBatch } from "./encode-batch.ts";
import { pruneOneRun } from "./partitioned-prune.ts";
import { RedisReader } from "./redis-reader.ts";
import { checkServer, type RedisRisk } from "./server-settings.ts";
import { fromWire, toWire, toWireOrNull } from "./wire-text.ts";

type OwnedReply = readonly (readonly [string, number])[];
type HeartbeatReply = [number, number, number, OwnedReply, string | null, string | null];

/** The result of a commit script. */
export interface Applied extends Commit {
  /** The oldest messages of each outbox that the script added to. */
  readonly outbox: OutboxReply;
}

interface Delivered {
  readonly wakes: readonly Wake[];
  readonly outbox: OutboxReply;
  /** The number of the last message that the partition received. */
  readonly receivedLast: string;
}

/** With this many transitions, the server takes less time for a commit than this process takes for its answers. */
const BATCH_MAX = 400;

const EMPTY: Applied = { answers: [], wakes: [], outbox: [] };

interface RedisStoreParts {
  /** Called when the store is opened. */
  readonly connect: () => Promise<RedisConnection>;
  /** Throws if the stored rows have another layout or another number of partitions. */
  readonly check: () => Promise<void>;
  /** Throws if a newer release has changed the layout. Sent together with each heartbeat. Null: another partition's heartbeat does it. */
  readonly checkLayout: ((connection: RedisConnection) => Promise<void>) | null;
  readonly allow: readonly RedisRisk[];
  readonly clock: "server" | "process";
  /** After how long the client closes a silent connection. */
  readonly silenceMs: number;
}

/** A store on a Redis server, or one partition of it. Each method is one script, which the server executes atomically. */
export class RedisStore implements Store {
  readonly exactClock: boolean;
  /** A script cannot wait for code of this process, so transitions with code are refused. */
  readonly transactions = "batched";
  readonly batchMax = BATCH_MAX;
  /** One batch is being written, the next is sent ahead, and two more collect while these are answered. */
  readonly busyMax = 4 * BATCH_MAX;
  readonly reader: Reader;
  readonly #parts: RedisStoreParts;
  readonly #listeners = new Set<(hint: Hint) => void>();
  #world: StoreWorld | null = null;
  #connection: RedisConnection | null = null;
  #clock: DatabaseClock | null = null;

  constructor(parts: RedisStoreParts) {
    this.#parts = parts;
    this.exactClock = parts.clock === "process";
    this.reader = new RedisReader((operation, args) => this.#read(operation, args));
  }

  async open(world: StoreWorld): Promise<void> {
    this.#world = world;
    this.#clock = new DatabaseClock(() => world.now());
    const connection = await this.#parts.connect();
    this.#connection = connection;
    try {
      const { clock, silenceMs } = this.#parts;
      await connection.open(clock === "server" ? new SilenceGuard(() => world.now(), silenceMs / 2) : null);
      await this.#parts.check();
      checkServer(String(await connection.command("INFO")), this.#parts.allow);
      await this.#timed(this.#read("time", []));
      await connection.listen((changes) => this.#notify(changes === null ? { runIds: null } : hintOf(changes)));
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  now(): number {
    if (this.#clock === null) throw new Error("the store is not open");
    return this.#clock.now();
  }

  async readClock(): Promise<number> {
    if (this.exactClock) return this.now();
    const [now] = (await this.#timed(this.#read("time", []))) as [number];
    return now;
  }

  async commit(transitions: readonly Transition[]): Promise<Commit> {
    const { answers, wakes } = await this.apply(transitions);
    return { answers, wakes };
  }

  apply(transitions: readonly Transition[]): Promise<Applied> {
    return refuseCode(transitions, (data) => this.#applyData(data));
  }

  async #applyData(data: readonly Transition[]): Promise<Applied> {
    if (data.length === 0) return EMPTY;
    const batch = encodeBatch(data);
    const reply = (await this.#write("commit", batch.args)) as CommitReply;
    return { ...readCommit(reply, batch), outbox: reply[3] };
  }

  /** Receives messages from the outbox of another partition, oldest first. */
  async deliver(source: number, messages: readonly string[]): Promise<Delivered> {
    const args = [String(source), String(messages.length), ...messages];
    const [, wakes, outbox, receivedLast] = (await this.#write("deliver", args)) as DeliveryReply;
    return { wakes: wakes.map(readWake), outbox, receivedLast };
  }

  /** Deletes messages up to this number from the outbox for partition `target`, which has received them. */
  async acknowledge(target: number, receivedLast: string): Promise<void> {
    await this.#write("acknowledge", [String(target), receivedLast]);
  }

  /** Executes a read for another partition: `script/partition-reads.lua`. */
  readForPartition(operation: "outbox" | "ended" | "parents" | "ancestor", args: readonly string[]): Promise<unknown> {
    return this.#read(operation, args);
  }

  /** Removes those of these runs that ended before this time. Returns their number. */
  async removeEnded(endedBefore: number, ids: readonly string[]): Promise<number> {
    const reply = await this.#write("remove", [String(endedBefore), String(ids.length), ...ids]);
    return (reply as readonly [number, number])[1];
  }

  async claim(request: ClaimRequest): Promise<readonly ClaimedRun[]> {
    const { worker, limit, workflows, suspects, newestFirst } = request;
    const { claims = "", held = "", max = null, idle = false } = suspects ?? {};
    const bounds = [String(claims), String(held), String(max ?? ""), idle ? "1" : ""];
    const args = [
      toWire(worker),
      String(limit),
      ...bounds,
      newestFirst === true ? "1" : "",
      ...workflowArgs(workflows),
    ];
    const [, runs] = (await this.#write("claim", args)) as [number, readonly (readonly [RunReply, number])[]];
    return runs.map(([run, isSuspect]) => ({ ...readRun(run), isSuspect: isSuspect === 1 }));
  }

  async dueRuns(worker: string, limit: number): Promise<readonly DueRun[]> {
    const reply = await this.#timed(this.#read("due", [toWire(worker), String(limit)]));
    const [, due] = reply as [number, readonly (readonly [string, number])[]];
    return due.map(([id, inboxLast]) => ({ id: fromWire(id), inboxLast }));
  }

  async ownedRunning(worker: string): Promise<readonly OwnedRun[]> {
    return ownedOf((await this.#read("owned", [toWire(worker)])) as OwnedReply);
  }

  async nextDueAt(worker: string, workflows: readonly WorkflowRef[]): Promise<number | null> {
    const reply = await this.#timed(this.#read("next", [toWire(worker), ...workflowArgs(workflows)]));
    const [, at] = reply as [number, string | null];
    return at === null ? null : Number(at);
  }

  async load(runId: string, afterSeq?: number, afterEntry = 0): Promise<Loaded | null> {
    const seq = afterSeq === undefined ? "" : String(afterSeq);
    const reply = await this.#read("load", [toWire(runId), seq, String(afterEntry)]);
    if (reply === null) return null;
    const [run, snapshot, records, inbox] = reply as [
      RunReply,
      DocumentReply | null,
      readonly string[],
      readonly EntryReply[],
    ];
    return {
      run: readRun(run),
      snapshot: snapshot === null ? null : readDocument(snapshot),
      records: readRecords(records),
      inbox: inbox.map(readEntry),
    };
  }

  async heartbeat(
    worker: string,
    leaseMs: number,
    workflows?: readonly WorkflowRef[],
    lapsed: readonly LapsedRun[] = [],
  ): Promise<Heartbeat> {
    const known = toWireOrNull(workflows === undefined ? null : JSON.stringify(workflows));
    const runs = lapsed.flatMap(({ id, epoch, isBlameless }) => [toWire(id), String(epoch), isBlameless ? "1" : ""]);
    const args = [toWire(worker), String(leaseMs), known, String(lapsed.length), ...runs];
    args.push(...workflowArgs(workflows ?? []));
    const sent = [this.#write("heartbeat", args), this.#parts.checkLayout?.(this.#opened())];
    const [reply] = await Promise.all(sent);
    const [, alive, freed, owned, due, expiry] = reply as HeartbeatReply;
    return {
      alive: alive === 1,
      freed,
      owned: ownedOf(owned),
      nextDueAt: due === null ? null : Number(due),
      nextExpiryAt: expiry === null ? null : Number(expiry),
    };
  }

  async retire(worker: string): Promise<void> {
    await this.#write("retire", [toWire(worker)]);
  }

  async prune(request: PruneRequest): Promise<Pruned> {
    const { runsEndedBefore, statuses, receivedBefore, lettersBefore = null, limit } = request;
    if (request.runId !== undefined) return prunedRuns(await pruneOneRun([this], request));
    const terminal = (statuses ?? STATUSES).filter(isTerminal);
    const reply = await this.#write("prune", [
      runsEndedBefore === null ? "" : String(runsEndedBefore),
      String(terminal.length),
      ...terminal,
      receivedBefore === null ? "" : String(receivedBefore),
      lettersBefore === null ? "" : String(lettersBefore),
      String(limit),
    ]);
    const [, runs, entries, expired, letters] = reply as [number, number, number, number, number];
    return { runs, entries, expired, letters, done: Math.max(runs, entries, expired, letters) < limit };
  }

  watch(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
    const connection = this.#connection;
    this.#connection = null;
    await connection?.close();
  }

  #notify(hint: Hint): void {
    for (const listener of [...this.#listeners]) listener(hint);
  }

  async #write(operation: string, args: readonly string[]): Promise<unknown> {
    return await this.#timed(this.#opened().write(operation, this.#fixedNow(), args));
  }

  async #read(operation: string, args: readonly string[]): Promise<unknown> {
    return await this.#opened().read(operation, this.#fixedNow(), args);
  }

  #opened(): RedisConnection {
    if (this.#connection !== null) return this.#connection;
    throw new StoreError("STORE_UNAVAILABLE", "notApplied", "the store is not open");
  }

  /** The current time if the process clock counts. Empty if the server's clock does. */
  #fixedNow(): string {
    return this.#parts.clock === "server" ? "" : String(this.#world?.now());
  }

  /** Sets the clock by a reply, whose first item is the server's time. */
  async #timed(reply: Promise<unknown>): Promise<unknown> {
    const values = await reply;
    if (this.#parts.clock === "server") this.#clock?.onServerTime((values as readonly [number])[0]);
    return values;
  }
}

function hintOf([woken, ended]: HintMessage): Hint {
  const groups = Array.isArray(woken) ? woken : [];
  return {
    runIds: groups.flatMap(([, ...runIds]) => runIds.map(fromWire)),
    owners: groups.flatMap(([owner, ...runIds]) => runIds.map(() => (owner === false ? null : fromWire(owner)))),
    ended: Array.isArray(ended) ? ended.map(fromWire) : [],
  };
}

function ownedOf(reply: OwnedReply): readonly OwnedRun[] {
  return reply.map(([id, epoch]) => ({ id: fromWire(id), epoch }));
}

function workflowArgs(workflows: readonly WorkflowRef[]): readonly string[] {
  const keys = distinctWorkflows(workflows).map((workflow) => toWire(workflowKey(workflow)));
  return [String(keys.length), ...keys];
}

/** Applies the transitions that are data. Refuses those with code, because a script cannot wait for code of this process. */
export async function refuseCode<Applied extends { readonly answers: readonly Answer[] }>(
  transitions: readonly Transition[],
  apply: (data: readonly Transition[]) => Promise<Applied>,
): Promise<Applied> {
  if (!transitions.some(hasCode)) return await apply(transitions);
  const applied = await apply(transitions.filter((transition) => !hasCode(transition)));
  const dataAnswers = applied.answers.values();
  const answers = transitions.map((transition) =>
    hasCode(transition) ? codeRefused() : (dataAnswers.next().value as Answer),
  );
  return { ...applied, answers };
}

function hasCode(transition: Transition): boolean {
  return transition.kind === "append" && transition.transaction !== null;
}

function codeRefused(): Answer {
  const text = "the Redis store cannot run code in its transactions; use ctx.step with its idempotency key";
  return { kind: "refused", reason: "threw", error: new PawlError("TX_UNSUPPORTED", text) };
}
