import { endedGenerationId } from "../../model/names.ts";
import { isTerminal, type Run, type TerminalStatus, type Undo } from "../../model/run.ts";
import type { DocumentChange, Post, RunState, Transition } from "../../model/transition.ts";
import type { ClaimRequest, LapsedRun, PruneRequest, SuspectLimit } from "../../rules/tables.ts";
import { seededSequence } from "../../runtime/random.ts";
import type { Store } from "../../store/store.ts";
import { append, cancel, control, document, event, message, newRun, record, wait } from "./builders.ts";

/** A call of a store as data, so that it can be repeated on another store. */
export type StoreAction =
  | { readonly kind: "commit"; readonly batch: readonly Transition[] }
  | { readonly kind: "claim"; readonly request: ClaimRequest }
  | {
      readonly kind: "heartbeat";
      readonly worker: string;
      readonly leaseMs: number;
      readonly lapsed?: readonly LapsedRun[];
    }
  | { readonly kind: "retire"; readonly worker: string }
  | { readonly kind: "prune"; readonly request: PruneRequest }
  | { readonly kind: "read"; readonly worker: string }
  | { readonly kind: "advance"; readonly ms: number };

const RUN_IDS = 24;
/** More than the runs of a test. */
const LIMIT_MAX = 1_000;
const WORKERS = ["w0", "w1", "w2"] as const;
const WORKFLOWS = ["order", "ship"] as const;
const REFS = WORKFLOWS.flatMap((name) => [1, 2, 3].map((version) => ({ name, version })));
const TOPICS = ["t0", "t1", "t2"] as const;
const NAMES = ["approve", "news", "t0"] as const;

/**
 * An endless sequence of random actions. The same seed and the same store give the same actions. It reads the store, so that most
 * transitions are accepted, and makes some of them invalid on purpose.
 */
export class StoreActions {
  readonly #next: () => number;
  #count = 0;
  #planned: StoreAction[] = [];
  #sent: Transition[] = [];
  readonly #spoiled = new WeakSet<Transition>();

  constructor(seed: number) {
    this.#next = seededSequence(seed);
  }

  async action(store: Store): Promise<StoreAction> {
    const planned = this.#planned.shift();
    if (planned !== undefined) return planned;
    const roll = this.#next();
    if (roll < 0.7) return { kind: "commit", batch: await this.#batch(store) };
    if (roll < 0.8) {
      const workflows = this.#chance(0.8) ? REFS : [this.#pick(REFS)];
      const request = {
        worker: this.#pick(WORKERS),
        workflows,
        limit: this.#upTo(4),
        newestFirst: this.#upTo(4) === 1,
      };
      if (this.#chance(0.1)) this.#planned = this.#losses(request);
      return {
        kind: "claim",
        request: this.#chance(0.5) ? request : this.#withSuspects(request),
      };
    }
    if (roll < 0.87) return await this.#heartbeat(store);
    if (roll < 0.88) return { kind: "retire", worker: this.#pick(WORKERS) };
    if (roll < 0.89) return { kind: "prune", request: this.#prune(store.now()) };
    if (roll < 0.94) return { kind: "read", worker: this.#pick(WORKERS) };
    return { kind: "advance", ms: this.#upTo(40) };
  }

  /** A worker that is lost and claims its runs again, until some of them are suspects. */
  #losses(request: ClaimRequest): StoreAction[] {
    return Array.from({ length: this.#upTo(4) }).flatMap(() => [
      { kind: "retire", worker: request.worker },
      { kind: "claim", request: this.#withSuspects(request) },
    ]);
  }

  /** Of more due runs than the limit, a store may read some only, and so count fewer suspects that were freed together. */
  #withSuspects(request: ClaimRequest): ClaimRequest {
    return { ...request, limit: LIMIT_MAX, suspects: this.#suspectLimit() };
  }

  #suspectLimit(): SuspectLimit {
    const held = this.#upTo(3) - 1;
    if (held > 0) return { claims: this.#chance(0.3) ? 1 : 2, held, max: 0, idle: this.#chance(0.5) };
    return { claims: 2, held, max: this.#chance(0.2) ? this.#upTo(2) : null, idle: this.#chance(0.5) };
  }

  async #heartbeat(store: Store): Promise<StoreAction> {
    const action = { kind: "heartbeat", worker: this.#pick(WORKERS), leaseMs: 50 } as const;
    if (this.#chance(0.5)) return action;
    const lapsed: LapsedRun[] = [];
    for (const id of new Set([this.#id(), this.#id(), this.#id()])) {
      const epoch = (await store.reader.get(id))?.epoch ?? 1;
      lapsed.push({ id, epoch: epoch - (this.#chance(0.3) ? 1 : 0), isBlameless: this.#chance(0.5) });
    }
    return { ...action, lapsed };
  }

  async #batch(store: Store): Promise<Transition[]> {
    const batch: Transition[] = [];
    const size = this.#upTo(5);
    while (batch.length < size) batch.push(await this.#transition(store, batch));
    this.#sent = batch;
    return batch;
  }

  /** A batch changes a run at most once: the store does not contain the state that a second change would need. */
  async #transition(store: Store, batch: readonly Transition[]): Promise<Transition> {
    const [earlier] = this.#sent;
    if (earlier !== undefined && this.#chance(0.06) && this.#mayBeResent(earlier, batch)) return earlier;
    const roll = this.#next();
    if (roll < 0.15) return this.#post(store.now());
    if (roll < 0.18) return this.#letter(store);
    if (roll < 0.2) return { kind: "documents", documents: this.#documents(null) };
    if (roll < 0.23) return await this.#revise(store);
    const id = this.#id();
    const run = await store.reader.get(id);
    const isTouched = batch.some((other) => "runId" in other && other.runId === id);
    if (run === null || isTouched || this.#chance(0.05)) return { kind: "create", run: this.#newRun(id, store.now()) };
    if (this.#chance(0.04)) return await this.#rewrite(store, run);
    if (this.#chance(isTerminal(run.status) ? 0.15 : 0.01)) return await this.#restart(store, run);
    if (this.#chance(0.08)) {
      const stop = { status: "compensating", reason: this.#name("why"), at: store.now() } as const;
      const poisoned = { ...stop, end: "failed", claims: run.claims } as const;
      const stopped = run.claims > 1 ? poisoned : stop;
      const state = this.#chance(0.2) ? stopped : this.#state(run, store.now());
      const posts = this.#posts(run, store.now());
      return control(id, {
        epoch: this.#spoil(run.epoch),
        state,
        posts,
        undo: this.#undo(),
        controlId: this.#name("c"),
      });
    }
    return this.#append(store, run);
  }

  /** An append that was refused must not become valid after the run changed: no engine sends such records. */
  #mayBeResent(transition: Transition, batch: readonly Transition[]): boolean {
    if (transition.kind !== "append") return true;
    return (
      !this.#spoiled.has(transition) && !batch.some((other) => "runId" in other && other.runId === transition.runId)
    );
  }

  async #append(store: Store, run: Run): Promise<Transition> {
    const created = await this.#validAppend(store, run);
    if (created.epoch !== run.epoch) this.#spoiled.add(created);
    return created;
  }

  async #validAppend(store: Store, run: Run): Promise<Extract<Transition, { kind: "append" }>> {
    const now = store.now();
    const loaded = await store.load(run.id, 0);
    const newest = loaded?.records.at(-1)?.seq ?? run.baseSeq;
    const records = Array.from({ length: this.#upTo(3) }, (_, index) =>
      record(newest + 1 + index, { at: now, kind: this.#chance(0.8) ? "step" : "listen", payload: this.#name("v") }),
    );
    if (this.#chance(0.4)) return append(run.id, { epoch: this.#spoil(run.epoch), turn: run.turn, records });
    const inbox = loaded?.inbox ?? [];
    const state = this.#chance(0.85) ? this.#state(run, now, newest + records.length) : null;
    return append(run.id, {
      epoch: this.#spoil(run.epoch),
      turn: run.turn + (state === null ? 0 : 1),
      records,
      trim: newest > run.baseSeq + 1 && this.#chance(0.15) ? [{ from: newest - this.#upTo(3), to: newest - 1 }] : [],
      taken: inbox.filter(() => this.#chance(0.5)).map(({ n }) => n),
      posts: this.#posts(run, now),
      documents: this.#chance(0.3) ? this.#documents(run.id) : [],
      state,
      undo: this.#undo(),
      inbox: this.#chance(0.3) ? this.#spoil(run.inboxLast) : null,
      notBefore: this.#chance(0.1) ? now + this.#upTo(3) - 2 : null,
    });
  }

  async #rewrite(store: Store, run: Run): Promise<Transition> {
    const loaded = await store.load(run.id, 0);
    const seqs = Array.from(loaded?.records ?? [], ({ seq }) => seq);
    const newest = seqs.at(-1) ?? run.baseSeq;
    const at = store.now();
    const { seq: _, ...act } = record(1, { at, kind: "operator", payload: this.#name("v") });
    const entry = { kind: "message", name: this.#pick(NAMES), value: null, status: null, at } as const;
    return control(run.id, {
      epoch: this.#spoil(run.epoch),
      state: {
        status: "reopened",
        at,
        version: this.#chance(0.5) ? null : this.#upTo(3),
        undo: this.#undo() ?? "none",
      },
      journal: {
        seen: this.#chance(0.5) ? null : { seq: this.#spoil(newest), status: run.status },
        cutAfter: this.#chance(0.2) ? null : this.#pick([run.baseSeq, ...seqs]),
        add: this.#chance(0.2) ? [] : [act],
        restore: this.#chance(0.5) ? [] : [{ ...entry, id: `p${this.#upTo(50)}`, onTargetTerminated: "deadLetter" }],
      },
      posts: this.#posts(run, at),
      controlId: this.#name("c"),
    });
  }

  async #restart(store: Store, run: Run): Promise<Transition> {
    const records = (await store.load(run.id, 0))?.records ?? [];
    const newest = records.at(-1)?.seq ?? run.baseSeq;
    const { createdAt, startedAt, generation, baseSeq, undo, outcome } = run;
    const status: TerminalStatus = isTerminal(run.status) ? run.status : "failed";
    const end = { status, outcome, at: run.endedAt ?? store.now() };
    const life = { startedAt, generation, baseSeq, seqs: Array.from(records, ({ seq }) => seq), end };
    const ended = { ...this.#newRun(endedGenerationId(run.id, generation), createdAt), owner: null };
    const history = { records: Array.from(records, ({ seq: _, ...rest }) => rest), inbox: [], undo, life };
    return control(run.id, {
      epoch: this.#spoil(run.epoch),
      state: {
        status: "restarted",
        run: { ...this.#newRun(run.id, store.now()), owner: null, parent: run.parent },
        baseSeq: newest + 1,
      },
      journal: { seen: { seq: this.#spoil(newest), status: run.status }, cutAfter: null, add: [], restore: [] },
      posts: [{ kind: "start", run: ended, history }],
      controlId: this.#name("c"),
    });
  }

  #state(run: Run, now: number, newest = run.baseSeq): RunState {
    const inboxSeen = this.#chance(0.8) ? run.inboxLast : Math.max(0, run.inboxLast - 1);
    const waits = wait({
      messages: NAMES.filter(() => this.#chance(0.4)),
      topics: TOPICS.filter(() => this.#chance(0.4)),
      children: this.#chance(0.3),
      until: this.#chance(0.5) ? now + this.#upTo(60) : null,
    });
    const roll = this.#next();
    if (roll < 0.5) return { status: "suspended", wait: waits, inboxSeen };
    if (roll < 0.65) return { status: "running", wait: this.#chance(0.5) ? waits : null, inboxSeen };
    if (roll < 0.7) return { status: "released", at: now };
    if (roll < 0.74) return { status: "paused", reason: this.#name("why") };
    if (roll < 0.78) return { status: "resumed", at: now };
    if (roll < 0.84) {
      const program = { workflow: this.#pick(WORKFLOWS), version: this.#upTo(3), input: this.#name("in") };
      return { status: "continued", ...program, baseSeq: newest, at: now };
    }
    const status = this.#pick(["completed", "failed", "cancelled"] as const);
    return { status, outcome: this.#chance(0.1) ? null : this.#name("out"), at: now };
  }

  #undo(): Undo | null {
    return this.#chance(0.8) ? null : this.#pick(["none", "some", "underWay"] as const);
  }

  #posts(run: Run, now: number): Post[] {
    if (this.#chance(0.6)) return [];
    const roll = this.#next();
    const child = this.#id();
    const at = now;
    if (roll < 0.25) {
      const parent = { runId: run.id, location: "c", onClose: this.#pick(["cancel", "abandon"] as const) };
      return [{ kind: "start", run: { ...this.#newRun(child, now), parent } }];
    }
    if (roll < 0.5) {
      return [{ kind: "childEnd", to: child, location: "c", child: run.id, status: "failed", outcome: null, at }];
    }
    if (roll < 0.6) return [{ kind: "closeChildren", of: run.id, reason: null, at }];
    return [this.#directPost(now, run.id)];
  }

  #post(now: number): Transition {
    return { kind: "post", post: this.#directPost(now, null) };
  }

  #directPost(now: number, from: string | null) {
    const roll = this.#next();
    if (roll < 0.1) return { ...cancel(this.#id(), this.#name("cancel")), at: now };
    const id = this.#chance(0.9) ? this.#name("p") : "same";
    if (roll < 0.55) {
      const onTargetTerminated = this.#pick(["discard", "broadcast", "deadLetter"] as const);
      return message(this.#id(), id, { name: this.#pick(NAMES), at: now, from, onTargetTerminated });
    }
    return event(this.#pick(TOPICS), id, {
      at: now,
      expireAt: now + this.#upTo(100),
      deliver: this.#pick(["afterWait", "afterCreate", "all", "all"] as const),
      consume: this.#pick(["one", "one", "all"] as const),
      pendingMax: this.#upTo(4),
    });
  }

  async #letter(store: Store): Promise<Transition> {
    const { items } = await store.reader.deadLetters({ limit: 5 });
    const letter = items.length === 0 ? undefined : this.#pick(items);
    if (letter === undefined) return { kind: "letter", letterId: "none", post: null };
    const replayed = event(this.#pick(TOPICS), this.#name("again"), { at: store.now(), expireAt: store.now() + 50 });
    return { kind: "letter", letterId: letter.id, post: this.#chance(0.5) ? replayed : null };
  }

  /** A document that is created, marked and revised belongs to one run, whose id its own id contains. */
  #documentOf(runId: string) {
    const attributes = { a: this.#pick(NAMES), d: this.#pick(["open", "open", "done"] as const) };
    return document("task", `${runId} ${this.#upTo(2)}`, { runId, body: this.#name("b"), attributes });
  }

  async #revise(store: Store): Promise<Transition> {
    const revised = this.#documentOf(this.#id());
    const found = await store.reader.document("task", revised.id);
    const seen = this.#chance(0.8) ? found : revised;
    const posted = message(revised.runId ?? "", this.#name("p"), { name: this.#pick(NAMES), at: store.now() });
    return { kind: "revise", seen, document: revised, post: this.#chance(0.5) ? posted : null };
  }

  #documents(runId: string | null): readonly DocumentChange[] {
    if (runId !== null && this.#chance(0.7)) {
      const create = this.#documentOf(runId);
      if (this.#chance(0.6)) return [{ create }];
      return [{ mark: { kind: "task", id: create.id, attributes: { b: this.#pick(NAMES), d: "done" } } }];
    }
    const id = `d${this.#upTo(6)}`;
    if (this.#chance(0.3)) return [{ remove: { kind: "task", id } }];
    return [{ put: document("task", id, { runId, body: this.#name("b"), attributes: { a: this.#pick(NAMES) } }) }];
  }

  #newRun(id: string, now: number) {
    const owner = this.#chance(0.5) ? this.#pick(WORKERS) : null;
    const times = { createdAt: now, startAt: now + this.#upTo(20) - 1 };
    const tags = NAMES.filter(() => this.#chance(0.2));
    const { name: workflow, version } = this.#pick(REFS);
    const limits = this.#chance(0.2) ? { limits: { deadlineAt: now + this.#upTo(99), expireAt: null } } : {};
    return newRun(id, { ...times, owner, tags, workflow, version, startId: this.#name("s"), ...limits });
  }

  #prune(now: number): PruneRequest {
    if (this.#chance(0.5))
      return { runsEndedBefore: now - 20, receivedBefore: now - 30, lettersBefore: now - 25, limit: 10_000 };
    return { runsEndedBefore: now - 10, statuses: ["completed", "failed"], receivedBefore: null, limit: this.#upTo(3) };
  }

  #id(): string {
    return `r${this.#upTo(RUN_IDS)}`;
  }

  #name(prefix: string): string {
    this.#count += 1;
    return `${prefix}${this.#count}`;
  }

  #spoil(value: number): number {
    return this.#chance(0.05) ? value + (this.#chance(0.5) ? 1 : -1) : value;
  }

  #chance(share: number): boolean {
    return this.#next() < share;
  }

  /** An integer from 1 to `max`. */
  #upTo(max: number): number {
    return 1 + Math.floor(this.#next() * max);
  }

  #pick<Item>(items: readonly Item[]): Item {
    const item = items[Math.floor(this.#next() * items.length)];
    if (item === undefined) throw new Error("items must not be empty");
    return item;
  }
}
