import type { Clock, CodecHook, Engine, EventLoop, Hint, Loaded, StepInfo, World } from "pawl";
import { isDead, noteDeath } from "./dead-processes.ts";
import { FaultyStore } from "./faulty-store.ts";
import { type Execution, newExecution, type TransactionCall } from "./interpreter-frame.ts";
import { GRACE_MS } from "./monitor-effects.ts";
import type { StepNode, TransactionNode } from "./program.ts";
import type { SimProcess, SimulationContext } from "./simulation-context.ts";
import { type SimWorkflows, simWorkflows } from "./workflows.ts";

type Processes = NonNullable<World["processes"]>;

const RESOLVED = Promise.resolve();

/** The share of the texts that need the second key is one of this number. */
const SECRET_SHARE = 8;

/** The text by which a store checks a codec needs no second key. */
function isSecret(text: string): boolean {
  let sum = 0;
  for (let index = 0; index < text.length; index += 1) sum += text.charCodeAt(index);
  return sum % SECRET_SHARE === 0 && !text.startsWith('{"pawl"');
}

/** One engine process, which can be killed and paused. */
export class SimWorker implements SimProcess {
  readonly name: string;
  /** The errors of its clock and of its estimate of the store's clock. */
  readonly skewMs: number;
  readonly estimateMs: number;
  readonly store: FaultyStore;
  readonly workflows: SimWorkflows;
  readonly isChanged: boolean;
  /** The only version of the code that it has. Null if it has all versions. */
  readonly version: number | null;
  dead = false;
  pausedUntil = 0;
  /** Set when a body hangs: the process must be killed later. */
  hung = false;
  storeUnusable = false;
  engine: Engine | null = null;
  /** The engine's id as a worker, known from its first heartbeat on. */
  engineId = "";
  /** The last full load of each run. */
  readonly loads = new Map<string, Loaded>();
  readonly #simulation: SimulationContext;
  readonly #isClient: boolean;
  readonly #onDeath: Array<() => void> = [];

  constructor(
    simulation: SimulationContext,
    name: string,
    options: {
      readonly isClient: boolean;
      readonly skewMs: number;
      readonly estimateMs: number;
      readonly version: number | null;
    },
  ) {
    this.#simulation = simulation;
    this.name = name;
    this.#isClient = options.isClient;
    this.version = options.version;
    this.skewMs = options.skewMs;
    this.estimateMs = options.estimateMs;
    this.store = new FaultyStore(simulation, this);
    const isChanged = simulation.isChanged;
    this.isChanged = isChanged;
    this.workflows = simWorkflows({
      pawl: simulation.pawl,
      isChanged: () => isChanged,
      programs: simulation.case.programs,
      bugs: simulation.case.bugs,
      runIds: simulation.case.runs.map((run) => run.id),
      begin: (runId, generation, version) =>
        simulation.bodies.begin(this, newExecution(this.#executed(runId), generation, version)),
      transact: (...call: [Execution, TransactionNode, TransactionCall]) => simulation.bodies.transact(this, ...call),
      resource: (...held: [Execution, string]) => simulation.bodies.resource(this, ...held),
      undoes: (...done: [Execution, string, unknown]) => simulation.monitor.effects.undoes(...done),
      body: (...start: [Execution, StepNode, string, StepInfo, number]) => simulation.bodies.run(this, ...start),
    });
  }

  get isClient(): boolean {
    return this.#isClient;
  }

  get usable(): boolean {
    return !this.dead && this.engine !== null;
  }

  /** Starts the engine. If createEngine fails, the process ends. */
  start(seed: number): void {
    const { pawl, case: plan } = this.#simulation;
    const { settings } = plan;
    const opening = pawl.createEngine({
      store: this.store,
      workflows: this.#isClient
        ? []
        : this.workflows.all.filter(({ version }) => version === (this.version ?? version)),
      concurrency: settings.concurrency,
      hotRuns: settings.hotRuns,
      lease: settings.leaseMs,
      poll: settings.pollMs,
      claimsMax: settings.claimsMax,
      grace: GRACE_MS,
      ...(plan.blind ? { codec: this.#codec() } : {}),
      revision: this.isChanged ? "changed" : "first",
      maxRunDuration: settings.maxRunDuration ?? false,
      maxSuspendDuration: settings.maxSuspendDuration ?? false,
      maxJournalRecords: settings.maxJournalRecords ?? false,
      storageRetryPolicy: { maxAttempts: 4, initialMs: 5, factor: 3, maxMs: 200, jitter: 0.2 },
      log: (level, text, fields) => this.#simulation.logged(this, level, text, fields),
      world: {
        clock: this.#clock(),
        eventLoop: this.#turns(),
        random: pawl.seededRandom(seed),
        ...(plan.isOneHost === true ? { processes: this.#processes() } : {}),
      },
    });
    opening.then(
      (engine) => {
        this.engine = engine;
        this.#simulation.opened();
      },
      () => this.kill("could not start"),
    );
  }

  /** Ends the process: none of its tasks runs, and none of its calls is answered. */
  kill(reason: string): void {
    if (this.dead) return;
    this.dead = true;
    noteDeath(this.#simulation, this);
    this.#simulation.scheduler.remark(`${this.name} dies: ${reason}`);
    for (const call of this.#onDeath.splice(0)) call();
    this.#simulation.died(this);
  }

  onDeath(call: () => void): void {
    if (this.dead) call();
    else this.#onDeath.push(call);
  }

  hint(hint: Hint): void {
    this.store.hint(hint);
  }

  /** The code of a run that compensates a child sees the child's id. The run that was loaded last is the one that is executed. */
  #executed(visibleId: string): string {
    const undoRun = `${visibleId}//~undo`;
    const loaded = [...this.loads.keys()].findLast((id) => id === visibleId || id === undoRun);
    return loaded ?? visibleId;
  }

  #clock(): Clock {
    const { scheduler } = this.#simulation;
    return {
      now: () => scheduler.now + this.skewMs,
      wakeAt: (at, callback) => scheduler.at(at - this.skewMs, { actor: this, label: "timer", run: callback }),
    };
  }

  /** All workers are processes of one host, with one process id. */
  #processes(): Processes {
    return {
      self: { host: "sim", pid: 1, startedAt: this.name },
      hasEnded: ({ startedAt }) => isDead(this.#simulation, startedAt),
    };
  }

  /** Leaves texts as they are, but fails to read some of them without the key. */
  #codec(): CodecHook {
    const hasKey = this.isChanged || this.#isClient;
    return {
      name: "sim",
      encode: (text) => text,
      decode: (text) => {
        if (!hasKey && isSecret(text)) throw new Error("key not found");
        return text;
      },
    };
  }

  #turns(): EventLoop {
    const { scheduler } = this.#simulation;
    return {
      whenIdle: (callback) => {
        void RESOLVED.then(() => process.nextTick(callback));
      },
      afterTurn: (callback) => scheduler.add({ actor: this, label: "turn", run: callback }),
    };
  }
}
