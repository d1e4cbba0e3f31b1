import type { Commit, Loaded, Run, Store, Transition } from "pawl";
import { newLine } from "./frame.ts";
import { limitOf } from "./limits.ts";
import { never, nothing } from "./nothing.ts";
import { isOver, type Shadow } from "./shadow.ts";
import { simWorkflows } from "./workflows.ts";
import type { World } from "./world.ts";

const TURNS_MAX = 200;

/**
 * I7: each run that ended by itself is interpreted once more from its journal, with bodies that do nothing. It must come to the
 * same end and add no record. One that was ended from outside must not diverge.
 */
export async function replayRuns(world: World): Promise<void> {
  const { pawl, monitor, case: plan } = world;
  const shadows = [...monitor.shadows.values()];
  const { store, written, close } = replayStore(world, shadows);
  const started: string[] = [];
  const workflows = simWorkflows({
    pawl,
    isChanged: (runId) => monitor.shadows.get(runId)?.isChanged ?? true,
    programs: plan.programs,
    runIds: plan.runs.map((run) => run.id),
    begin: newLine,
    undoes: nothing,
    resource: (_line, name) => ({ acquire: () => ({ name, isHeld: true }), release: nothing }),
    transact: (line, _node, { location }) => {
      started.push(`${line.runId} ${location}`);
      throw new Error("a replay was put to the store");
    },
    body: (line, _node, location) => {
      started.push(`${line.runId} ${location}`);
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
      clock: { now: () => world.storeNow, wakeAt: () => nothing },
      random: pawl.seededRandom(1),
    },
  });
  const byItself = shadows.filter(
    (shadow) =>
      shadow.row.status === "completed" ||
      (shadow.row.status === "failed" &&
        !(shadow.row.outcome ?? "").includes('"POISONED"') &&
        limitOf(shadow) === null),
  );
  for (let turn = 0; turn < TURNS_MAX && byItself.some((shadow) => !written.has(shadow.id)); turn += 1) {
    await new Promise<void>((resolve) => setImmediate(resolve));
  }
  close();
  if (diverged !== "") monitor.violate("I7", `in replay: ${diverged}`);
  for (const shadow of byItself) compareEnd(world, shadow, written.get(shadow.id) ?? [], started);
}

function compareEnd(world: World, { row }: Shadow, appends: readonly Append[], started: readonly string[]): void {
  const end = appends.at(-1)?.state ?? null;
  const records = appends.flatMap((append) => append.records);
  const bodies = started.filter((start) => start.startsWith(`${row.id} `));
  const same = end !== null && "outcome" in end && end.status === row.status && sameOutcome(row, end.outcome);
  if (!same)
    world.monitor.violate("I7", `run ${row.id} ${row.status} with ${row.outcome}; its replay ${JSON.stringify(end)}`);
  if (records.length > 0)
    world.monitor.violate(
      "I7",
      `the replay of run ${row.id} wrote ${records.map((record) => record.location).join(" ")}`,
    );
  if (bodies.length > 0 && same)
    world.monitor.violate("I7", `the replay of run ${row.id} started ${bodies.join(", ")}`);
}

/** A stack says where an error was made, and that may be elsewhere in a replay. */
function sameOutcome(row: Run, outcome: string | null): boolean {
  if (row.status === "completed") return row.outcome === outcome;
  const [left, right] = [row.outcome, outcome].map(
    (text) => JSON.parse(text ?? "null") as { message: string; code?: string; name: string },
  );
  return left?.message === right?.message && left?.code === right?.code && left?.name === right?.name;
}

type Append = Extract<Transition, { kind: "append" }>;

/** A store that holds ended runs as if their last transition had not been written, and keeps what is written instead of applying it. */
function replayStore(
  world: World,
  shadows: readonly Shadow[],
): { readonly store: Store; readonly written: Map<string, Append[]>; close(): void } {
  let closed = false;
  const written = new Map<string, Append[]>();
  const rows = new Map(shadows.filter(({ row }) => isOver(row)).map((shadow) => [shadow.id, shadow]));
  let worker = "";
  const opened = ({ row }: Shadow): Run => ({
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
  const { reader } = world.store;
  const store: Store = {
    open: async () => nothing(),
    exactClock: true,
    transactions: "batched",
    now: () => world.storeNow,
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
      return [...rows.values()].map(opened);
    },
    dueRuns: async () => [],
    ownedRunning: async () => [],
    nextDueAt: async () => null,
    async load(runId): Promise<Loaded | null> {
      if (closed) return never();
      // A run that was cancelled may come to an end of its generation here; it is read no second time.
      const shadow = written.get(runId)?.some((append) => append.state?.status === "continued")
        ? undefined
        : rows.get(runId);
      return shadow === undefined ? null : { run: opened(shadow), snapshot: null, records: shadow.journal, inbox: [] };
    },
    heartbeat: async () => ({ alive: true, freed: 0, owned: [], nextDueAt: null, nextExpiryAt: null }),
    retire: async () => nothing(),
    prune: async () => ({ runs: 0, entries: 0, expired: 0, letters: 0, done: true }),
    watch: () => nothing,
    close: async () => nothing(),
    reader,
  };
  return {
    store,
    written,
    close() {
      closed = true;
    },
  };
}
