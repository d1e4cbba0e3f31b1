import { PawlError } from "../../model/errors.ts";
import { isTerminal, type Run, STATUSES } from "../../model/run.ts";
import type { Answer, Transition, Wake } from "../../model/transition.ts";
import { distinctWorkflows, type WorkflowRef, workflowKey } from "../../model/workflow-ref.ts";
import type { ClaimRequest, Heartbeat, OwnedRun, Pruned, PruneRequest } from "../../rules/tables.ts";
import { DatabaseClock } from "../database-clock.ts";
import type { Commit, DueRun, Hint, Loaded, Reader, Store, StoreWorld } from "../store.ts";
import { StoreError } from "../store-error.ts";
import { type RedisConnection, SilenceGuard } from "./connection.ts";
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
import { writeBatch } from "./encode-batch.ts";
import { RedisReader } from "./redis-reader.ts";
import { checkServer, type RedisRisk } from "./server-settings.ts";
import { fromWire, toWire, toWireOrNull } from "./wire-text.ts";

type OwnedReply = readonly (readonly [string, number])[];
type HeartbeatReply = [number, number, number, OwnedReply, string | null, string | null];

/** What a script has done, and what lies in the outboxes that it added to. */
export interface Applied extends Commit {
  readonly outbox: OutboxReply;
}

export interface Delivered {
  readonly wakes: readonly Wake[];
  readonly outbox: OutboxReply;
  /** The number of the last message that was taken. */
  readonly taken: string;
}

/** A commit of so many takes the server less time than it takes this process to go on with what it answers. */
const BATCH_MAX = 400;

const NOTHING: Applied = { answers: [], wakes: [], outbox: [] };

export interface RedisStoreParts {
  /** Made when the store is opened. */
  readonly connect: () => Promise<RedisConnection>;
  /** Says by throwing that the store was made in another way. */
  readonly check: () => Promise<void>;
  readonly allow: readonly RedisRisk[];
  readonly clock: "server" | "process";
  /** Of the client: a connection on which nothing has passed for so long is given up. */
  readonly silenceMs: number;
}

/**
 * A store on a Redis server, or one partition of it. Each method is one script there, so it happens as a whole, and no other
 * comes between.
 */
export class RedisStore implements Store {
  readonly exactClock: boolean;
  /** A script can't wait for code that is elsewhere, so there are none: what comes with code is refused. */
  readonly transactions = "batched";
  readonly batchMax = BATCH_MAX;
  /** One batch is on its way, the next is sent ahead, and while they are answered others are to gather. */
  readonly busyMax = 4 * BATCH_MAX;
  readonly reader: Reader;
  readonly #parts: RedisStoreParts;
  readonly #listeners = new Set<(hint: Hint) => void>();
  #world: StoreWorld | null = null;
  #connection: RedisConnection | null = null;
  #present: DatabaseClock | null = null;

  constructor(parts: RedisStoreParts) {
    this.#parts = parts;
    this.exactClock = parts.clock === "process";
    this.reader = new RedisReader((operation, args) => this.#read(operation, args));
  }

  async open(world: StoreWorld): Promise<void> {
    this.#world = world;
    this.#present = new DatabaseClock(() => world.now());
    const connection = await this.#parts.connect();
    this.#connection = connection;
    try {
      const { clock, silenceMs } = this.#parts;
      await connection.open(clock === "server" ? new SilenceGuard(() => world.now(), silenceMs / 2) : null);
      await this.#parts.check();
      checkServer(String(await connection.command("INFO")), this.#parts.allow);
      await this.#timed(this.#read("time", []));
      await connection.listen((runIds) => this.#tell(runIds));
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  now(): number {
    if (this.#present === null) throw new Error("the store is not open");
    return this.#present.now();
  }

  async readClock(): Promise<number> {
    if (this.exactClock) return this.now();
    const [present] = (await this.#timed(this.#read("time", []))) as [number];
    return present;
  }

  async commit(transitions: readonly Transition[]): Promise<Commit> {
    const { answers, wakes } = await this.apply(transitions);
    return { answers, wakes };
  }

  apply(transitions: readonly Transition[]): Promise<Applied> {
    return refuseCode(transitions, (data) => this.#applied(data));
  }

  async #applied(data: readonly Transition[]): Promise<Applied> {
    if (data.length === 0) return NOTHING;
    const batch = writeBatch(data);
    const reply = (await this.#write("commit", batch.args)) as CommitReply;
    return { ...readCommit(reply, batch), outbox: reply[3] };
  }

  /** Takes what lies in the outbox of another partition, from the oldest on. */
  async deliver(source: number, messages: readonly string[]): Promise<Delivered> {
    const args = [String(source), String(messages.length), ...messages];
    const [, wakes, outbox, taken] = (await this.#write("deliver", args)) as DeliveryReply;
    return { wakes: wakes.map(readWake), outbox, taken };
  }

  /** Messages up to this number were taken. */
  async acknowledge(place: number, taken: string): Promise<void> {
    await this.#write("acknowledge", [String(place), taken]);
  }

  /** What one partition asks another, by the words of the script. */
  ask(operation: "outbox" | "ended" | "parents" | "above", args: readonly string[]): Promise<unknown> {
    return this.#read(operation, args);
  }

  /** Removes these runs if they ended before that; says how many. */
  async removeEnded(endedBefore: number, ids: readonly string[]): Promise<number> {
    const reply = await this.#write("remove", [String(endedBefore), String(ids.length), ...ids]);
    return (reply as readonly [number, number])[1];
  }

  async claim(request: ClaimRequest): Promise<readonly Run[]> {
    const { worker, limit, workflows, suspects, newestFirst } = request;
    const bounds = suspects === undefined ? ["", ""] : [String(suspects.claims), String(suspects.max)];
    const args = [
      toWire(worker),
      String(limit),
      ...bounds,
      newestFirst === true ? "1" : "",
      ...workflowArgs(workflows),
    ];
    const [, runs] = (await this.#write("claim", args)) as [number, readonly RunReply[]];
    return runs.map(readRun);
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

  async load(runId: string, afterSeq?: number): Promise<Loaded | null> {
    const reply = await this.#read("load", [toWire(runId), afterSeq === undefined ? "" : String(afterSeq)]);
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

  async heartbeat(worker: string, leaseMs: number, workflows?: readonly WorkflowRef[]): Promise<Heartbeat> {
    const known = toWireOrNull(workflows === undefined ? null : JSON.stringify(workflows));
    const args = [toWire(worker), String(leaseMs), known, ...workflowArgs(workflows ?? [])];
    const [, alive, freed, owned, due, expiry] = (await this.#write("heartbeat", args)) as HeartbeatReply;
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

  #tell(runIds: readonly string[] | null): void {
    const hint = { runIds: runIds === null ? null : runIds.map(fromWire) };
    for (const listener of [...this.#listeners]) listener(hint);
  }

  async #write(operation: string, args: readonly string[]): Promise<unknown> {
    return await this.#timed(this.#open().write(operation, this.#clock(), args));
  }

  async #read(operation: string, args: readonly string[]): Promise<unknown> {
    return await this.#open().read(operation, this.#clock(), args);
  }

  #open(): RedisConnection {
    if (this.#connection !== null) return this.#connection;
    throw new StoreError("STORE_UNAVAILABLE", "notApplied", "the store is not open, or was closed");
  }

  /** Nothing when the server is to look at its own clock. */
  #clock(): string {
    return this.#parts.clock === "server" ? "" : String(this.#world?.now());
  }

  /** An answer that begins with the server's time. */
  async #timed(reply: Promise<unknown>): Promise<unknown> {
    const answer = await reply;
    if (this.#parts.clock === "server") this.#present?.heard((answer as readonly [number])[0]);
    return answer;
  }
}

function ownedOf(reply: OwnedReply): readonly OwnedRun[] {
  return reply.map(([id, epoch]) => ({ id: fromWire(id), epoch }));
}

function workflowArgs(workflows: readonly WorkflowRef[]): readonly string[] {
  const keys = distinctWorkflows(workflows).map((workflow) => toWire(workflowKey(workflow)));
  return [String(keys.length), ...keys];
}

/** Applies what is data alone, and refuses the rest: a script can't wait for code that is elsewhere. */
export async function refuseCode<Applied extends { readonly answers: readonly Answer[] }>(
  transitions: readonly Transition[],
  apply: (data: readonly Transition[]) => Promise<Applied>,
): Promise<Applied> {
  if (!transitions.some(hasCode)) return await apply(transitions);
  const applied = await apply(transitions.filter((transition) => !hasCode(transition)));
  const left = applied.answers.values();
  const answers = transitions.map((one) => (hasCode(one) ? codeRefused() : (left.next().value as Answer)));
  return { ...applied, answers };
}

function hasCode(transition: Transition): boolean {
  return transition.kind === "append" && transition.transaction !== null;
}

function codeRefused(): Answer {
  const text = "Redis has no transaction that code could take part in; do the work in a step, with its idempotency key";
  return { kind: "refused", reason: "threw", error: new PawlError("TX_UNSUPPORTED", text) };
}
