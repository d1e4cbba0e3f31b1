import { describe, expect, it } from "vitest";
import type { AppendOp, Op } from "../model/op.ts";
import type { NewRun } from "../model/run.ts";
import { type EventPost, emptyAppend, type MessagePost, type Wake } from "../model/transition.ts";
import { assert } from "../runtime/assert.ts";
import { TimeoutQueue } from "../runtime/timeout-queue.ts";
import { memoryStore } from "../store/memory/memory-store.ts";
import type { Store } from "../store/store.ts";
import { StoreError } from "../store/store-error.ts";
import { type Intercept, intercepted } from "../testing/intercepted.ts";
import { append, completed, record, suspended } from "../testing/store-contract/builders.ts";
import { type VirtualWorld, virtualWorld } from "../testing/virtual-world.ts";
import { Committer } from "./committer.ts";
import { Coordinator, type CoordinatorLimits } from "./coordinator.ts";
import type { AppendSource } from "./queue.ts";

const STORAGE_TIMEOUT_MS = 10_000;

interface Fixture {
  readonly world: VirtualWorld;
  readonly store: Store;
  readonly coordinator: Coordinator;
  /** The number of transitions in each commit. */
  readonly batches: number[];
  /** Calls of `onDown`, `onUp` and `onBroken`. */
  readonly reports: string[];
  readonly wakes: Wake[];
}

/** With `sendsAhead` the store has a `batchMax`, so that full batches are sent ahead. */
async function open(
  options: { intercept?: Intercept; limits?: Partial<CoordinatorLimits>; sendsAhead?: boolean } = {},
): Promise<Fixture> {
  const world = virtualWorld();
  const batches: number[] = [];
  const reports: string[] = [];
  const wakes: Wake[] = [];
  const memory = memoryStore();
  const { batchMax = 2_000 } = options.limits ?? {};
  const store = intercepted(Object.assign(memory, options.sendsAhead ? { batchMax } : {}), (call, proceed) => {
    if (call.method === "commit") batches.push(call.batch.length);
    return options.intercept === undefined ? proceed() : options.intercept(call, proceed);
  });
  await memory.open({ now: world.now, every: () => () => {} });
  const committer = new Committer({
    store,
    clock: world.clock,
    timeouts: new TimeoutQueue(world.clock, STORAGE_TIMEOUT_MS),
    random: world.random,
    policy: { maxAttempts: 3, initialMs: 100, factor: 2, maxMs: 1_000, jitter: 0 },
    log: () => {},
    onDown: () => reports.push("down"),
    onUp: () => reports.push("up"),
    onUnusable: (error) => coordinator.stop(error),
  });
  const coordinator = new Coordinator({
    store,
    committer,
    callers: new TimeoutQueue(world.clock, STORAGE_TIMEOUT_MS),
    eventLoop: world.eventLoop,
    limits: { batchMax: 2_000, queueMax: 20_000, busyMax: 10, ...options.limits },
    onWakes: (more) => wakes.push(...more),
    onAnswered: () => undefined,
    onBroken: (error) => reports.push(`broken: ${String(error)}`),
  });
  return { world, store: memory, coordinator, batches, reports, wakes };
}

const newRun = (id: string, over: Partial<NewRun> = {}): NewRun => ({
  id,
  workflow: "order",
  version: 1,
  input: null,
  tags: [],
  parent: null,
  createdAt: 0,
  startId: `start of ${id}`,
  owner: "w",
  startAt: 0,
  ...over,
});
const start = (id: string, over: Partial<NewRun> = {}): Op => ({ kind: "start", run: newRun(id, over) });
const message = (to: string, id: string): MessagePost => ({
  kind: "message",
  to,
  id,
  name: "m",
  value: null,
  at: 0,
  onTargetTerminated: "discard",
  from: null,
});
const event = (id: string): EventPost => ({
  kind: "event",
  topic: "t",
  id,
  value: null,
  at: 0,
  expireAt: Number.MAX_SAFE_INTEGER,
  deliver: "all",
  consume: "one",
  pendingMax: 10,
});

/** Appends `waiting` records when it is taken. */
class Source implements AppendSource {
  readonly kind = "source";
  readonly runId: string;
  readonly outcomes: string[] = [];
  takes = 0;
  seq = 0;
  waiting = 0;

  constructor(runId: string) {
    this.runId = runId;
  }

  takeAppend(): AppendOp | null {
    this.takes += 1;
    if (this.waiting === 0) return null;
    const records = Array.from({ length: this.waiting }, () => {
      this.seq += 1;
      return record(this.seq);
    });
    this.waiting = 0;
    return append(this.runId, { records });
  }

  appended(outcome: { readonly kind: string; readonly reason?: string }): void {
    this.outcomes.push(outcome.reason ?? outcome.kind);
  }
}

/** The code of the error that a call rejects with. */
function codeOf(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => "no error",
    (error: { readonly code: string }) => error.code,
  );
}

function down(outcome: StoreError["outcome"] = "notApplied"): StoreError {
  return new StoreError("STORE_UNAVAILABLE", outcome, "not there");
}

describe("group commit", () => {
  it("a thousand ops of one event-loop turn share one commit", async () => {
    const { coordinator, batches } = await open();
    const outcomes = await Promise.all(Array.from({ length: 1_000 }, (_, n) => coordinator.submit(start(`r${n}`))));
    expect(outcomes.every((outcome) => outcome.kind === "started")).toBe(true);
    expect(batches).toEqual([1_000]);
  });

  it("ops that arrive during a commit form the next batch", async () => {
    let answer = (): void => {};
    let held = false;
    const { coordinator, batches, world } = await open({
      intercept: async (call, proceed) => {
        if (call.method === "commit" && !held) {
          held = true;
          await new Promise<void>((resolve) => {
            answer = resolve;
          });
        }
        return await proceed();
      },
    });
    const first = coordinator.submit(start("first"));
    await world.settle();
    const rest = Array.from({ length: 50 }, (_, n) => coordinator.submit(start(`r${n}`)));
    await world.settle();
    expect(batches).toEqual([1]);
    answer();
    await Promise.all([first, ...rest]);
    expect(batches).toEqual([1, 50]);
  });

  it("a batch has at most batchMax transitions", async () => {
    const { coordinator, batches } = await open({ limits: { batchMax: 100 } });
    await Promise.all(Array.from({ length: 250 }, (_, n) => coordinator.submit(start(`r${n}`))));
    expect(batches).toEqual([100, 100, 50]);
  });

  it("everything a source has collected when the batch is taken becomes one transition", async () => {
    const { coordinator, batches, store, world } = await open();
    await coordinator.submit(start("r"));
    coordinator.own({ id: "r", status: "running", epoch: 1, turn: 0, seq: 0, parent: null, undo: "none" });
    const source = new Source("r");
    source.waiting = 1;
    coordinator.enlist(source);
    source.waiting += 4;
    await world.settle();
    expect(batches).toEqual([1, 1]);
    expect(source.outcomes).toEqual(["appended"]);
    expect((await store.reader.journal("r", { afterSeq: 0, limit: 10 })).map((record) => record.seq)).toEqual([
      1, 2, 3, 4, 5,
    ]);
  });

  it("a source with nothing to append causes no commit", async () => {
    const { coordinator, batches, world } = await open();
    const source = new Source("r");
    coordinator.enlist(source);
    await world.settle();
    expect(source.takes).toBe(1);
    expect(batches).toEqual([]);
  });
});

describe("room for appends", () => {
  it("a queued source takes room until its append is answered, is refused or turns out empty", async () => {
    const { coordinator, world } = await open();
    await coordinator.submit(start("r"));
    coordinator.own({ id: "r", status: "running", epoch: 1, turn: 0, seq: 0, parent: null, undo: "none" });
    const [source, idle, lost] = [new Source("r"), new Source("idle"), new Source("not owned")];
    source.waiting = 1;
    lost.waiting = 1;
    for (const each of [source, idle, lost]) coordinator.enlist(each);
    expect(coordinator.room).toBe(7);
    await world.settle();
    expect([source.outcomes, lost.outcomes, coordinator.room]).toEqual([["appended"], ["gone"], 10]);
  });
});

describe("the answers of a commit", () => {
  it("more than 250 answers are dispatched over several turns, after the turn of the commit", async () => {
    const { coordinator, batches, world } = await open();
    let answered = 0;
    const ops = Array.from({ length: 600 }, (_, n) => coordinator.submit(start(`r${n}`)).then(() => (answered += 1)));
    const seen: number[] = [];
    while (answered < 600) {
      await new Promise<void>((resolve) => world.eventLoop.afterTurn(resolve));
      if (batches.length > 0 && seen.at(-1) !== answered) seen.push(answered);
    }
    await Promise.all(ops);
    expect(batches).toEqual([600]);
    expect(seen).toEqual([0, 250, 500, 600]);
  });

  it("up to 250 answers are dispatched in the turn of the commit", async () => {
    const { coordinator, batches, world } = await open();
    let answered = 0;
    for (let n = 0; n < 250; n += 1) void coordinator.submit(start(`r${n}`)).then(() => (answered += 1));
    while (batches.length === 0) await new Promise<void>((resolve) => world.eventLoop.afterTurn(resolve));
    expect(answered).toBe(250);
  });
});

describe("sending a batch ahead", () => {
  /** Lists commits and answers in order. Each commit takes until the end of a turn. */
  async function openWithLog(limits: Partial<CoordinatorLimits>) {
    const order: string[] = [];
    const session = await open({
      limits,
      sendsAhead: true,
      intercept: async (call, proceed) => {
        if (call.method !== "commit") return await proceed();
        order.push(`commit of ${call.batch.length}`);
        await new Promise<void>((resolve) => setImmediate(resolve));
        return await proceed();
      },
    });
    const note = (id: string): Promise<unknown> =>
      session.coordinator.submit(start(id)).then(() => order.push(`answer to ${id}`));
    return { ...session, order, note };
  }

  it("a full batch is sent before the answers of the previous batch are dispatched", async () => {
    const { order, note } = await openWithLog({ batchMax: 2 });
    await Promise.all(["a", "b", "c", "d", "e"].map(note));
    expect(order).toEqual([
      "commit of 2",
      "commit of 2",
      "answer to a",
      "answer to b",
      "answer to c",
      "answer to d",
      "commit of 1",
      "answer to e",
    ]);
  });

  it("a partial batch waits for the ops that follow the answers", async () => {
    const { order, note } = await openWithLog({ batchMax: 2 });
    await Promise.all([note("a").then(() => note("more")), ...["b", "c"].map(note)]);
    expect(order.filter((entry) => entry.startsWith("commit"))).toEqual(["commit of 2", "commit of 2"]);
  });

  it("a batch sent ahead contains no append of a run that is in flight", async () => {
    const { coordinator, batches, world, store, note } = await openWithLog({ batchMax: 2 });
    await coordinator.submit(start("r"));
    coordinator.own({ id: "r", status: "running", epoch: 1, turn: 0, seq: 0, parent: null, undo: "none" });
    const source = new Source("r");
    source.waiting = 1;
    coordinator.enlist(source);
    await Promise.resolve();
    const others = [note("a"), note("b")];
    await new Promise<void>((resolve) => setImmediate(resolve));
    source.waiting = 1;
    coordinator.enlist(source);
    others.push(note("c"));
    await Promise.all(others);
    await world.settle();
    expect(batches).toEqual([1, 2, 2, 1]);
    expect(source.outcomes).toEqual(["appended", "appended"]);
    expect((await store.reader.journal("r", { afterSeq: 0, limit: 10 })).map(({ seq }) => seq)).toEqual([1, 2]);
  });

  it("a failed batch that was sent ahead stops the coordinator after the previous answers", async () => {
    const { coordinator, batches, reports } = await open({
      limits: { batchMax: 1 },
      sendsAhead: true,
      intercept: async (call, proceed) => {
        if (call.method === "commit" && batches.length === 2) throw new Error("wrong");
        return await proceed();
      },
    });
    const ends = await Promise.allSettled(["a", "b", "c"].map((id) => coordinator.submit(start(id))));
    expect(ends.map((end) => (end.status === "rejected" ? end.reason.code : end.value.kind))).toEqual([
      "started",
      "ENGINE_BROKEN",
      "ENGINE_BROKEN",
    ]);
    expect(reports).toEqual(["broken: Error: wrong"]);
  });

  it("callers of a batch that was sent ahead get ENGINE_BROKEN when the coordinator stops", async () => {
    const { coordinator, world, reports, note } = await openWithLog({ batchMax: 1 });
    await coordinator.submit(start("r"));
    coordinator.own({ id: "r", status: "running", epoch: 1, turn: 0, seq: 0, parent: null, undo: "none" });
    const source = new Source("r");
    source.waiting = 1;
    source.appended = () => {
      throw new Error("wrong");
    };
    coordinator.enlist(source);
    const ends = await Promise.allSettled([note("ahead"), note("queued")]);
    expect(ends.map((end) => end.status === "rejected" && end.reason.code)).toEqual(["ENGINE_BROKEN", "ENGINE_BROKEN"]);
    await world.settle();
    expect(reports).toEqual(["broken: Error: wrong"]);
  });
});

describe("an append that the store has already applied", () => {
  const view = { id: "r", status: "running", epoch: 1, turn: 0, seq: 0, parent: null, undo: "none" } as const;

  /** Two sources of one run. Their appends are applied, and the answers are lost as often as `losses` states. */
  async function openLosing(losses: { readonly first: number; readonly second: number }) {
    const losing = [losses.first, losses.second];
    let commits = 0;
    let meanwhile = (): void => {};
    const session = await open({
      intercept: async (call, proceed) => {
        const answer = await proceed();
        if (call.method !== "commit" || commits === 0) return answer;
        const which = commits - 1;
        const left = losing[which] ?? 0;
        losing[which] = left - 1;
        if (which === 0) meanwhile();
        if (left > 0) throw down("unknown");
        commits += 1;
        return answer;
      },
    });
    await session.coordinator.submit(start("r"));
    commits = 1;
    const [first, second] = [new Source("r"), new Source("r")];
    const add = (source: Source): void => {
      source.waiting = 1;
      session.coordinator.own(view);
      session.coordinator.enlist(source);
    };
    return { ...session, first, second, add, onFirst: (call: () => void) => (meanwhile = call) };
  }

  it("an append that is resent after a lost answer is appended once", async () => {
    const { world, first, add } = await openLosing({ first: 1, second: 0 });
    add(first);
    await world.advance("10 s");
    expect(first.outcomes).toEqual(["appended"]);
  });

  it.each([
    ["was received", 0],
    ["was lost, and the append was resent", 1],
  ])("an append is unsure after the run was disowned with an append in flight: the answer %s", async (_, losses) => {
    const { world, coordinator, first, second, add, onFirst } = await openLosing({ first: 0, second: losses });
    let done = false;
    onFirst(() => {
      if (done) return;
      done = true;
      coordinator.disown("r");
      add(second);
    });
    add(first);
    await world.advance("10 s");
    expect(first.outcomes).toEqual(["appended"]);
    expect(second.outcomes).toEqual(["unsure"]);
  });
});

describe("answers", () => {
  it("submitBatch returns one outcome per op, in order", async () => {
    const { coordinator } = await open();
    await coordinator.submit(start("there"));
    const outcomes = await coordinator.submitBatch([
      { kind: "send", post: message("nobody", "a") },
      start("there", { startId: "another call" }) as Extract<Op, { kind: "start" }>,
      { kind: "emit", post: event("e") },
      { kind: "cancel", runId: "nobody", opId: "c1", reason: null },
      { kind: "send", post: message("there", "b") },
      { kind: "letter", letterId: "none", post: null },
      { kind: "send", post: message("there", "b") },
      { kind: "resume", runId: "there", opId: "c2" },
      { kind: "documents", documents: [] },
    ]);
    expect(outcomes).toEqual([
      { kind: "targetNotFound" },
      { kind: "exists", status: "running" },
      { kind: "queued", id: "e" },
      { kind: "notFound" },
      { kind: "queued", id: "b" },
      { kind: "notFound" },
      { kind: "duplicate", id: "b" },
      { kind: "refused", status: "running" },
      { kind: "done" },
    ]);
  });

  it("a caller is answered only after the commit is durable", async () => {
    const order: string[] = [];
    const { coordinator } = await open({
      intercept: async (call, proceed) => {
        const answer = await proceed();
        if (call.method === "commit") {
          await new Promise<void>((resolve) => setImmediate(resolve));
          order.push("durable");
        }
        return answer;
      },
    });
    await coordinator.submit(start("r")).then(() => order.push("answered"));
    expect(order).toEqual(["durable", "answered"]);
  });

  it("an op is decided again when the owner of its run changed after the read", async () => {
    let between: (() => Promise<void>) | null = null;
    const { coordinator, store } = await open({
      intercept: async (call, proceed) => {
        const answer = await proceed();
        if (call.method === "read" && between !== null) {
          const change = between;
          between = null;
          await change();
        }
        return answer;
      },
    });
    await coordinator.submit(start("r", { owner: null }));
    between = async () => {
      await store.claim({ worker: "other", limit: 1, workflows: [{ name: "order", version: 1 }] });
    };
    expect(await coordinator.submit({ kind: "cancel", runId: "r", opId: "c", reason: null })).toEqual({ kind: "done" });
    expect((await store.reader.get("r"))?.status).toBe("cancelled");
  });

  it("the wake-ups of a commit are dispatched before the sender is answered", async () => {
    const { coordinator, wakes, world } = await open();
    await coordinator.submit(start("r"));
    coordinator.own({ id: "r", status: "running", epoch: 1, turn: 0, seq: 0, parent: null, undo: "none" });
    const wait = { messages: ["m"], topics: [], children: false, until: null, since: 0, open: [], openCount: 1 };
    const append: AppendOp = { ...emptyAppend("r", 1), state: { status: "suspended", wait, inboxSeen: 0 } };
    const outcomes: string[] = [];
    coordinator.enlist({
      kind: "source",
      runId: "r",
      takeAppend: () => append,
      appended: (outcome) => outcomes.push(outcome.kind),
    });
    await world.settle();
    expect(outcomes).toEqual(["appended"]);
    const seen: number[] = [];
    const sent = coordinator.submit({ kind: "send", post: message("r", "m1") }).finally(() => seen.push(wakes.length));
    expect(await sent).toEqual({ kind: "delivered" });
    expect(seen).toEqual([1]);
    expect(wakes).toMatchObject([{ runId: "r", owner: "w" }]);
  });

  it("an append of a run that is not owned is refused without a store call", async () => {
    const { coordinator, batches, world } = await open();
    const source = new Source("r");
    source.waiting = 1;
    coordinator.enlist(source);
    await world.settle();
    expect(source.outcomes).toEqual(["gone"]);
    expect(batches).toEqual([]);
  });
});

describe("backpressure", () => {
  it("callers wait in FIFO order when the queue is full", async () => {
    let hold = true;
    const waiting: Array<() => void> = [];
    const { coordinator, batches, world } = await open({
      limits: { queueMax: 10, batchMax: 10 },
      intercept: async (call, proceed) => {
        if (call.method === "commit" && hold) await new Promise<void>((resolve) => waiting.push(resolve));
        return await proceed();
      },
    });
    const done: number[] = [];
    const all = Array.from({ length: 95 }, (_, n) => coordinator.submit(start(`r${n}`)).then(() => done.push(n)));
    await world.settle();
    expect(batches).toEqual([10]);
    hold = false;
    waiting[0]!();
    await Promise.all(all);
    expect(Math.max(...batches)).toBeLessThanOrEqual(10);
    expect(batches.reduce((sum, each) => sum + each, 0)).toBe(95);
    expect(done).toEqual(Array.from({ length: 95 }, (_, n) => n));
  });

  it("drained resolves after the last waiting caller is answered", async () => {
    const { coordinator } = await open({ limits: { queueMax: 2, batchMax: 2 } });
    let answered = 0;
    for (let n = 0; n < 9; n += 1) void coordinator.submit(start(`r${n}`)).then(() => answered++);
    await new Promise<void>((resolve) => setImmediate(resolve));
    await coordinator.drained();
    await Promise.resolve();
    expect(answered).toBe(9);
  });
});

describe("a store that fails", () => {
  it("a failed batch is sent again with growing delays", async () => {
    let failures = 2;
    const at: number[] = [];
    const { coordinator, batches, reports, world } = await open({
      intercept: async (call, proceed) => {
        if (call.method === "commit") at.push(world.now());
        if (call.method === "commit" && failures-- > 0) throw down();
        return await proceed();
      },
    });
    const outcome = coordinator.submit(start("r"));
    await world.advance("1 s");
    expect(await outcome).toEqual({ kind: "started" });
    expect(batches).toEqual([1, 1, 1]);
    expect(at.map((time) => time - at[0]!)).toEqual([0, 100, 300]);
    expect(reports).toEqual([]);
  });

  it("a batch resent after a lost answer has the outcomes of its first send", async () => {
    let lost = 1;
    const { coordinator, store, world } = await open({
      intercept: async (call, proceed) => {
        const answer = await proceed();
        if (call.method === "commit" && lost-- > 0) throw down("unknown");
        return answer;
      },
    });
    await store.commit([{ kind: "create", run: newRun("there") }]);
    const outcomes = coordinator.submitBatch([
      start("r") as Extract<Op, { kind: "start" }>,
      { kind: "send", post: message("there", "m") },
      { kind: "emit", post: event("e") },
      { kind: "pause", runId: "there", opId: "p", reason: null },
    ]);
    await world.advance("1 s");
    expect(await outcomes).toEqual([
      { kind: "started" },
      { kind: "queued", id: "m" },
      { kind: "queued", id: "e" },
      { kind: "done" },
    ]);
    expect(await store.reader.inbox("there")).toHaveLength(1);
  });

  it("after the last retry callers get STORE_UNAVAILABLE, appends stay queued, and onDown is called", async () => {
    let cut = true;
    const { coordinator, store, reports, world } = await open({
      intercept: async (_, proceed) => {
        if (cut) throw down();
        return await proceed();
      },
    });
    await store.commit([{ kind: "create", run: newRun("r") }]);
    coordinator.own({ id: "r", status: "running", epoch: 1, turn: 0, seq: 0, parent: null, undo: "none" });
    const source = new Source("r");
    source.waiting = 1;
    coordinator.enlist(source);
    const caller = codeOf(coordinator.submit(start("x")));
    const reader = codeOf(coordinator.submit({ kind: "cancel", runId: "r", opId: "c", reason: null }));
    await world.advance("1 s");
    expect(reports).toEqual(["down"]);
    expect([await caller, await reader]).toEqual(["STORE_UNAVAILABLE", "STORE_UNAVAILABLE"]);
    await world.advance("10 s");
    expect(source.outcomes).toEqual([]);
    cut = false;
    await world.advance("2 s");
    expect(reports).toEqual(["down", "up"]);
    expect(source.outcomes).toEqual(["appended"]);
    expect(await store.reader.get("x")).toBeNull();
  });

  it("a read that succeeds does not report that the store is back", async () => {
    let cut = true;
    const { coordinator, store, reports, world } = await open({
      intercept: async (call, proceed) => {
        if (cut && call.method === "commit") throw down();
        return await proceed();
      },
    });
    await store.commit([{ kind: "create", run: newRun("r") }]);
    const first = codeOf(coordinator.submit(start("x")));
    await world.advance("10 s");
    expect(await first).toBe("STORE_UNAVAILABLE");
    const second = codeOf(coordinator.submit({ kind: "cancel", runId: "r", opId: "c", reason: null }));
    await world.advance("10 s");
    expect([await second, reports]).toEqual(["STORE_UNAVAILABLE", ["down"]]);
    cut = false;
    await coordinator.submit(start("y"));
    expect(reports).toEqual(["down", "up"]);
  });
});

describe("a store that does not answer", () => {
  /** Commits, reads or both never answer until `release` is called. */
  async function openHanging(limits: Partial<CoordinatorLimits>, hangs: (method: string) => boolean) {
    let isHanging = true;
    const release: Array<() => void> = [];
    const session = await open({
      limits,
      intercept: async (call, proceed) => {
        if (isHanging && hangs(call.method)) await new Promise<void>((resolve) => release.push(resolve));
        return await proceed();
      },
    });
    return {
      ...session,
      release: () => {
        isHanging = false;
        for (const each of release.splice(0)) each();
      },
    };
  }

  it("callers get STORE_UNAVAILABLE after the timeout: in a commit, in the queue and before it", async () => {
    const { coordinator, batches, reports, release, store, world } = await openHanging(
      { queueMax: 2, batchMax: 2 },
      (method) => method === "commit",
    );
    const calls = ["a", "b"].map((id) => coordinator.submit(start(id)));
    await world.settle();
    const codes = [...calls, ...["c", "d", "e", "f", "g"].map((id) => coordinator.submit(start(id)))].map(codeOf);
    await world.advance("9900 ms");
    const late = coordinator.submit(start("late"));
    await world.advance("200 ms");
    expect(await Promise.all(codes)).toEqual(Array.from({ length: 7 }, () => "STORE_UNAVAILABLE"));
    expect([batches, reports]).toEqual([[2], ["down"]]);
    release();
    expect(await late).toEqual({ kind: "started" });
    expect([batches, reports]).toEqual([
      [2, 1],
      ["down", "up"],
    ]);
    const runs = await Promise.all(["a", "b", "c", "g", "late"].map((id) => store.reader.get(id)));
    expect(runs.map((run) => run?.id ?? null)).toEqual(["a", "b", null, null, "late"]);
    await coordinator.drained();
  });

  it("a caller whose run cannot be read gets STORE_UNAVAILABLE after the timeout, and its op is not sent", async () => {
    const { coordinator, batches, release, world } = await openHanging({}, (method) => method === "read");
    const cancel = codeOf(coordinator.submit({ kind: "cancel", runId: "r", opId: "c", reason: null }));
    await world.advance("10 s");
    expect(await cancel).toBe("STORE_UNAVAILABLE");
    release();
    await world.settle();
    expect(batches).toEqual([]);
  });

  it("a batch that is resent leaves out callers who have got an answer, and the others get their own", async () => {
    let failures = 0;
    const { coordinator, store, world } = await open({
      intercept: async (call, proceed) => {
        if (call.method !== "commit" || failures === 2) return await proceed();
        failures += 1;
        if (failures === 1) await new Promise<void>((resolve) => world.clock.wakeAt(world.now() + 10_050, resolve));
        throw down("unknown");
      },
    });
    await store.commit([{ kind: "create", run: newRun("r") }]);
    coordinator.own({ id: "r", status: "running", epoch: 1, turn: 0, seq: 0, parent: null, undo: "none" });
    const caller = codeOf(coordinator.submit(start("x")));
    const source = new Source("r");
    source.waiting = 1;
    coordinator.enlist(source);
    await world.advance("11 s");
    expect(await caller).toBe("STORE_UNAVAILABLE");
    expect(source.outcomes).toEqual(["appended"]);
    expect(await store.reader.get("x")).toBeNull();
  });

  it("a caller is not timed out because this process was stopped meanwhile", async () => {
    const { coordinator, release, world } = await openHanging({}, (method) => method === "commit");
    const outcome = coordinator.submit(start("x"));
    await world.settle();
    await world.leap(60_000);
    release();
    expect(await outcome).toEqual({ kind: "started" });
  });
});

describe("a violated invariant", () => {
  const broken = async (): Promise<Fixture> => {
    const session = await open({ limits: { queueMax: 3, batchMax: 3 } });
    await session.coordinator.submit(start("r"));
    // In the owner's view the run has five records, so an append of record 1 is invalid.
    session.coordinator.own({ id: "r", status: "running", epoch: 1, turn: 0, seq: 5, parent: null, undo: "none" });
    return session;
  };

  it("an invalid append is not sent, and all current and later callers get ENGINE_BROKEN", async () => {
    const { coordinator, batches, reports, world } = await broken();
    const source = new Source("r");
    source.waiting = 1;
    coordinator.enlist(source);
    const callers = Array.from({ length: 8 }, (_, n) =>
      coordinator.submit(start(`x${n}`)).catch((error: { code: string }) => error.code),
    );
    await world.settle();
    expect(await Promise.all(callers)).toEqual(Array.from({ length: 8 }, () => "ENGINE_BROKEN"));
    await expect(coordinator.submit(start("later"))).rejects.toMatchObject({ code: "ENGINE_BROKEN" });
    expect(batches).toEqual([1]);
    expect(reports).toHaveLength(1);
    expect(reports[0]).toContain("record 1 appended where 6 follows");
    await coordinator.drained();
  });

  it("a durable post is answered even if the append deferred for it is invalid", async () => {
    const { coordinator, store, reports, world } = await broken();
    await store.commit([{ kind: "create", run: newRun("w") }, append("w", { state: suspended({ messages: ["m"] }) })]);
    const end = append("r", { records: [record(1, { kind: "listen" })], state: completed() });
    coordinator.enlist({ kind: "source", runId: "r", takeAppend: () => end, appended: () => undefined });
    const answers: unknown[] = [];
    const send = async (to: string, id: string): Promise<void> => {
      answers.push(await coordinator.submit({ kind: "send", post: message(to, id) }));
    };
    void send("r", "m1").then(() => send("w", "m2"));
    await world.settle();
    expect(answers).toEqual([{ kind: "queued", id: "m1" }, { kind: "delivered" }]);
    expect(reports).toEqual([expect.stringContaining("record 1 appended where 6 follows")]);
  });

  it("missing or impossible answers of a store stop the coordinator", async () => {
    const short = await open({
      intercept: async (call, proceed) => {
        const answer = await proceed();
        return call.method === "commit" ? ({ answers: [], wakes: [] } as unknown as typeof answer) : answer;
      },
    });
    await expect(short.coordinator.submit(start("r"))).rejects.toMatchObject({ code: "ENGINE_BROKEN" });
    const wrong = await open({
      intercept: async (call, proceed) => {
        const answer = await proceed();
        const early = { kind: "refused", reason: "early", now: 0 };
        return call.method === "commit" ? ({ answers: [early], wakes: [] } as unknown as typeof answer) : answer;
      },
    });
    await expect(wrong.coordinator.submit(start("r"))).rejects.toMatchObject({ code: "ENGINE_BROKEN" });
  });

  it("an error other than StoreError stops the coordinator", async () => {
    const { coordinator, reports } = await open({
      intercept: async () => assert(false, "a driver's own invariant") as never,
    });
    await expect(coordinator.submit(start("r"))).rejects.toMatchObject({ code: "ENGINE_BROKEN" });
    expect(reports).toEqual(["broken: AssertionFailed: a driver's own invariant"]);
  });
});
