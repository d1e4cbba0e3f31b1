import type {
  ClaimedRun,
  ClaimRequest,
  Commit,
  DueRun,
  Heartbeat,
  Hint,
  LapsedRun,
  Loaded,
  Pruned,
  PruneRequest,
  Reader,
  Store,
  Transition,
  WorkflowRef,
} from "pawl";
import type { AppliedCall } from "./applied-call.ts";
import { type TransactionKind, transactionKinds } from "./fault-matrix.ts";
import { never } from "./noop.ts";
import type { CallFault } from "./sim-case.ts";
import type { SimProcess, SimulationContext } from "./simulation-context.ts";

/** Longer than a lease: the lease of the caller may have expired before it gets the answer. */
const LATE_MS_MAX = 4_000;

/** How long a stopped engine stays in its process. */
const STOPPED_MS_MAX = 8_000;

interface Call<Answer> {
  readonly label: string;
  readonly kinds: readonly TransactionKind[];
  /** The call has reached the store; its outcome is open. */
  arrived?(): void;
  apply(store: Store): Promise<Answer>;
  /** The call as the monitors receive it. Omitted for reads. */
  applied?(answer: Answer): AppliedCall;
}

/**
 * One worker's connection to the shared store. Each call is two tasks, *apply* and *answer*. Faults occur before, between or after
 * them.
 */
export class FaultyStore implements Store {
  readonly reader: Reader;
  /** True if the case has no clock faults. */
  readonly exactClock: boolean;
  readonly transactions = "batched";
  /** Set in some cases: batches are small, and the next is sent before the previous one is answered. */
  readonly batchMax?: number;
  /** Set in some cases: a new run waits while another run has something to commit. */
  readonly busyMax?: number;
  readonly #simulation: SimulationContext;
  readonly #worker: SimProcess;
  readonly #listeners = new Set<(hint: Hint) => void>();

  constructor(simulation: SimulationContext, worker: SimProcess) {
    this.#simulation = simulation;
    this.#worker = worker;
    const { skew, clockJump } = simulation.case.faultRates;
    this.exactClock = skew === 0 && clockJump === 0;
    if (simulation.case.seed % 7 > 4) this.batchMax = 2;
    if (simulation.case.seed % 3 > 0) this.busyMax = 1;
    this.reader = this.#reading(simulation.store.reader);
  }

  async open(): Promise<void> {
    // The shared store is already open, with its own clock.
  }

  /** The worker's estimate of the store's clock. */
  now(): number {
    return this.#simulation.storeNow + this.#worker.estimateMs;
  }

  commit(batch: readonly Transition[]): Promise<Commit> {
    const kinds = transactionKinds(batch);
    const { creating } = this.#simulation;
    if (batch.some(({ kind }) => kind === "create")) creating.add(batch);
    return this.#call({
      label: `commit ${batch.map(labelOf).join(", ")}`,
      kinds,
      arrived: () => void creating.delete(batch),
      apply: (store) => store.commit(batch),
      applied: (commit) => ({ kind: "commit", batch, commit }),
    });
  }

  claim(request: ClaimRequest): Promise<readonly ClaimedRun[]> {
    return this.#call({
      label: "claim",
      kinds: ["claim"],
      apply: (store) => store.claim(request),
      applied: (runs) => ({ kind: "claim", runs }),
    });
  }

  dueRuns(worker: string, limit: number): Promise<readonly DueRun[]> {
    return this.#call({ label: "due", kinds: ["due"], apply: (store) => store.dueRuns(worker, limit) });
  }

  ownedRunning(worker: string): ReturnType<Store["ownedRunning"]> {
    return this.#call({ label: "held", kinds: ["held"], apply: (store) => store.ownedRunning(worker) });
  }

  nextDueAt(worker: string, workflows: readonly WorkflowRef[]): Promise<number | null> {
    return this.#call({
      label: "nextDueAt",
      kinds: ["nextDueAt"],
      apply: (store) => store.nextDueAt(worker, workflows),
    });
  }

  async load(runId: string, afterSeq?: number, afterEntry?: number): Promise<Loaded | null> {
    const loaded = await this.#call({
      label: `load ${runId}`,
      kinds: ["load"],
      apply: (store) => store.load(runId, afterSeq, afterEntry),
    });
    if (afterSeq === undefined && loaded !== null) {
      this.#worker.loads.delete(runId);
      this.#worker.loads.set(runId, loaded);
    }
    return loaded;
  }

  async heartbeat(
    worker: string,
    leaseMs: number,
    workflows?: readonly WorkflowRef[],
    lapsed?: readonly LapsedRun[],
  ): Promise<Heartbeat> {
    const { scheduler, monitor } = this.#simulation;
    this.#worker.engineId = worker;
    const heartbeat = await this.#call({
      label: "heartbeat",
      kinds: ["heartbeat"],
      apply: (store) => store.heartbeat(worker, leaseMs, workflows, lapsed),
      applied: (answer) => ({ kind: "heartbeat", leaseMs, answer }),
    });
    monitor.effects.heartbeatAnswered(this.#worker, heartbeat);
    return scheduler.chance.roll(this.#simulation.faultRates.passedOver) ? { ...heartbeat, alive: false } : heartbeat;
  }

  retire(worker: string): Promise<void> {
    return this.#call({
      label: "retire",
      kinds: ["retire"],
      apply: (store) => store.retire(worker),
      applied: () => ({ kind: "retire", retired: worker }),
    });
  }

  prune(request: PruneRequest): Promise<Pruned> {
    return this.#call({
      label: "prune",
      kinds: ["prune"],
      apply: (store) => store.prune(request),
      applied: () => ({ kind: "prune" }),
    });
  }

  watch(listener: (hint: Hint) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async close(): Promise<void> {
    this.#listeners.clear();
  }

  /** Delivers a hint to the listeners of this worker. */
  hint(hint: Hint): void {
    for (const listener of [...this.#listeners]) listener(hint);
  }

  #call<Answer>(call: Call<Answer>): Promise<Answer> {
    const { scheduler } = this.#simulation;
    const worker = this.#worker;
    if (worker.dead) return never();
    if (worker.storeUnusable && call.applied !== undefined) {
      const text = `${worker.name} calls ${call.label} after the store reported that it must not be used`;
      this.#simulation.monitor.violate("engine", text);
    }
    const fault = this.#simulation.faultOf(worker, call.kinds);
    return new Promise((resolve, reject) => {
      // A request may arrive after its sender was killed or paused.
      const travels = scheduler.chance.roll(0.5);
      const apply = {
        actor: travels ? null : worker,
        label: `${worker.name} ${call.label}${fault === null ? "" : ` !${fault}`}`,
        run: () => void this.#apply(call, fault, resolve, reject),
      };
      if (fault === "delay") scheduler.at(scheduler.now + scheduler.chance.between(20, 4000), apply);
      else scheduler.add(apply);
    });
  }

  async #apply<Answer>(
    call: Call<Answer>,
    fault: CallFault | null,
    resolve: (answer: Answer) => void,
    reject: (error: Error) => void,
  ): Promise<void> {
    const { scheduler, pawl, store, monitor } = this.#simulation;
    const worker = this.#worker;
    call.arrived?.();
    if (fault === "crashBefore") {
      worker.kill("crash before a call");
      return;
    }
    if (fault === "error" || this.#simulation.isOut) {
      const error = new pawl.StoreError("STORE_BUSY", "notApplied", "injected error before the call");
      scheduler.add({ actor: worker, label: `refused ${call.label}`, run: () => reject(error) });
      return;
    }
    if (fault === "unusable") {
      this.#endStore(call.label, reject);
      return;
    }
    const answer = await call.apply(store);
    if (call.applied !== undefined) await monitor.applied(worker, call.applied(answer));
    if (fault === "crashAfter") {
      worker.kill("crash after a call");
    } else if (fault === "appliedError") {
      const error = new pawl.StoreError("STORE_UNAVAILABLE", "unknown", "injected error after the call");
      scheduler.add({ actor: worker, label: `broken ${call.label}`, run: () => reject(error) });
    } else {
      const answered = { actor: worker, label: `answer ${call.label}`, run: () => resolve(answer) };
      if (fault === "lateAnswer") scheduler.at(scheduler.now + scheduler.chance.between(20, LATE_MS_MAX), answered);
      else scheduler.add(answered);
    }
  }

  #endStore(label: string, reject: (error: Error) => void): void {
    const { scheduler, pawl } = this.#simulation;
    const worker = this.#worker;
    const error = new pawl.PawlError("STORE_UNSUPPORTED", "injected: the schema is newer than this release");
    const note = (): void => {
      worker.storeUnusable = true;
    };
    const deliver = (): void => {
      reject(error);
      scheduler.add({ actor: worker, label: "store unusable", run: note });
    };
    scheduler.add({ actor: worker, label: `unusable ${label}`, run: deliver });
    scheduler.at(scheduler.now + scheduler.chance.between(1, STOPPED_MS_MAX), {
      actor: null,
      label: `restart ${worker.name}`,
      run: () => worker.kill("its store must not be used any more"),
    });
  }

  #reading(reader: Reader): Reader {
    const read =
      <Args extends readonly unknown[], Answer>(name: string, method: (...args: Args) => Promise<Answer>) =>
      (...args: Args): Promise<Answer> =>
        this.#call({ label: name, kinds: ["read"], apply: () => method(...args) });
    return {
      get: read("get", (runId) => reader.get(runId)),
      list: read("list", (query) => reader.list(query)),
      count: read("count", (query) => reader.count(query)),
      journal: read("journal", (runId, query) => reader.journal(runId, query)),
      inbox: read("inbox", (runId) => reader.inbox(runId)),
      children: read("children", (runId, query) => reader.children(runId, query)),
      deadLetters: read("deadLetters", (query) => reader.deadLetters(query)),
      deadLetter: read("deadLetter", (id) => reader.deadLetter(id)),
      documents: read("documents", (query) => reader.documents(query)),
      document: read("document", (kind, id) => reader.document(kind, id)),
      workers: read("workers", () => reader.workers()),
    };
  }
}

/** One word for each transition, to keep traces readable. */
function labelOf(transition: Transition): string {
  switch (transition.kind) {
    case "create":
      return `create ${transition.run.id}`;
    case "append": {
      const { runId, epoch, turn, records, taken, state } = transition;
      const texts = records
        .map((record) => `${record.seq}:${record.kind}@${record.location}=${record.outcome}`)
        .join(" ");
      return `append ${runId} e${epoch}t${turn} [${texts}]${taken.length > 0 ? ` taken ${taken.join(" ")}` : ""} ${state?.status ?? ""}`;
    }
    case "control":
      return `control ${transition.runId} e${transition.epoch} ${transition.state.status}`;
    case "post":
      return transition.post.kind === "event"
        ? `emit ${transition.post.topic} ${transition.post.id}`
        : `post ${transition.post.to} ${transition.post.id}`;
    case "letter":
    case "documents":
    case "revise":
      return transition.kind;
  }
}
