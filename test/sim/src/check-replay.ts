import type { Commit, Loaded, Reader, Run, Store, Transition } from "pawl";
import { limitOf } from "./check-limits.ts";
import { type ExpectedRun, hasEnded } from "./expected-run.ts";
import { newExecution } from "./interpreter-frame.ts";
import { never, noop } from "./noop.ts";
import type { Simulation } from "./simulation.ts";
import { simWorkflows } from "./workflows.ts";

const TURNS_MAX = 200;

/**
 * I7: replays each run that ended by itself, with step bodies that do nothing. The replay must reach the same end and add no record.
 * The replay of a run that was ended from outside must not diverge.
 */
export async function replayRuns(simulation: Simulation): Promise<void> {
  const { pawl, monitor, case: plan } = simulation;
  const expectedRuns = [...monitor.expectedRuns.values()];
  const { store, written, close } = replayStore(simulation, expectedRuns);
  const started: string[] = [];
  const workflows = simWorkflows({
    pawl,
    isChanged: (runId) => monitor.expectedRuns.get(runId)?.isChanged ?? true,
    programs: plan.programs,
    bugs: plan.bugs,
    runIds: plan.runs.map((run) => run.id),
    begin: newExecution,
    undoes: noop,
    resource: (_line, name) => ({ acquire: () => ({ name, isHeld: true }), release: noop }),
    transact: (execution, _node, { location }) => {
      started.push(`${execution.runId} ${location}`);
      throw new Error("a replay started a transaction in the store");
    },
    body: (execution, _node, location) => {
      started.push(`${execution.runId} ${location}`);
      return never();
    },
  });
  let diverged = "";
  await pawl.createEngine({
    store,
    workflows: workflows.all,
    log: (_level, text, fields) => {
      if (fields.code === "HISTORY_DIVERGED") diverged = text;
    },
    world: {
      clock: { now: () => simulation.storeNow, wakeAt: () => noop },
      random: pawl.seededRandom(1),
    },
  });
  const byItself = expectedRuns.filter(
    (expectedRun) =>
      expectedRun.row.status === "completed" ||
      (expectedRun.row.status === "failed" &&
        !(expectedRun.row.outcome ?? "").includes('"POISONED"') &&
        limitOf(expectedRun) === null),
  );
  for (let turn = 0; turn < TURNS_MAX && byItself.some((expectedRun) => !written.has(expectedRun.id)); turn += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  close();
  if (diverged !== "") monitor.violate("I7", `replay diverged: ${diverged}`);
  for (const expectedRun of byItself) compareEnd(simulation, expectedRun, written.get(expectedRun.id) ?? [], started);
}

function compareEnd(
  simulation: Simulation,
  { row }: ExpectedRun,
  appends: readonly Append[],
  started: readonly string[],
): void {
  const end = appends.at(-1)?.state ?? null;
  const records = appends.flatMap((append) => append.records);
  const bodies = started.filter((start) => start.startsWith(`${row.id} `));
  const same = end !== null && "outcome" in end && end.status === row.status && sameOutcome(row, end.outcome);
  if (!same)
    simulation.monitor.violate(
      "I7",
      `run ${row.id} ${row.status} with ${row.outcome}; its replay ended with ${JSON.stringify(end)}`,
    );
  if (records.length > 0)
    simulation.monitor.violate(
      "I7",
      `the replay of run ${row.id} wrote ${records.map((record) => record.location).join(" ")}`,
    );
  if (bodies.length > 0 && same)
    simulation.monitor.violate("I7", `the replay of run ${row.id} started ${bodies.join(", ")}`);
}

/** Ignores stacks: in a replay an error may be created at another place. */
function sameOutcome(row: Run, outcome: string | null): boolean {
  if (row.status === "completed") return row.outcome === outcome;
  const [left, right] = [row.outcome, outcome].map(
    (text) => JSON.parse(text ?? "null") as { message: string; code?: string; name: string },
  );
  return left?.message === right?.message && left?.code === right?.code && left?.name === right?.name;
}

type Append = Extract<Transition, { kind: "append" }>;

function withoutRuns(reader: Reader): Reader {
  return new Proxy(reader, {
    get: (target, name) => (name === "get" ? async () => null : Reflect.get(target, name).bind(target)),
  });
}

/** A store with ended runs as they were before their last transition. It collects transitions and applies none. */
function replayStore(
  simulation: Simulation,
  expectedRuns: readonly ExpectedRun[],
): { readonly store: Store; readonly written: Map<string, Append[]>; close(): void } {
  let closed = false;
  const written = new Map<string, Append[]>();
  const rows = new Map(
    expectedRuns.filter(({ row }) => hasEnded(row)).map((expectedRun) => [expectedRun.id, expectedRun]),
  );
  let worker = "";
  // A deadline that has passed since the run ended would fail its replay.
  const opened = ({ row: { limits: _, ...row } }: ExpectedRun): Run => ({
    ...row,
    status: "running",
    owner: worker,
    outcome: null,
    endedAt: null,
    wakeAt: null,
    wait: null,
    claims: 1,
  });
  let claimed = false;
  const { reader } = simulation.store;
  const store: Store = {
    open: async () => noop(),
    exactClock: true,
    transactions: "batched",
    now: () => simulation.storeNow,
    async commit(batch): Promise<Commit> {
      if (closed) return never();
      for (const transition of batch) {
        if (transition.kind === "append")
          written.set(transition.runId, [...(written.get(transition.runId) ?? []), transition]);
      }
      return { answers: batch.map(() => ({ kind: "applied", post: null, again: false })), wakes: [] };
    },
    async claim(request) {
      if (claimed) return [];
      claimed = true;
      worker = request.worker;
      return [...rows.values()].map((row) => ({ ...opened(row), isSuspect: false }));
    },
    dueRuns: async () => [],
    ownedRunning: async () => [],
    nextDueAt: async () => null,
    async load(runId): Promise<Loaded | null> {
      if (closed) return never();
      // A cancelled run may reach the end of its generation here; it is not loaded again.
      const expectedRun = written.get(runId)?.some((append) => append.state?.status === "continued")
        ? undefined
        : rows.get(runId);
      return expectedRun === undefined
        ? null
        : { run: opened(expectedRun), snapshot: null, records: expectedRun.journal, inbox: [] };
    },
    heartbeat: async () => ({ alive: true, freed: 0, owned: [], nextDueAt: null, nextExpiryAt: null }),
    retire: async () => noop(),
    prune: async () => ({ runs: 0, entries: 0, expired: 0, letters: 0, done: true }),
    watch: () => noop,
    close: async () => noop(),
    // A run that was reopened looks for ends of children that it has missed. The records of an ended run are complete.
    reader: withoutRuns(reader),
  };
  return {
    store,
    written,
    close() {
      closed = true;
    },
  };
}
