import type { JournalRecord, Run, Transition } from "pawl";
import type { AppliedCall } from "./applied-call.ts";
import { type ExpectedRun, hasEnded } from "./expected-run.ts";
import { checkChildrenUndone, checkUndo, checkUndone, type Known } from "./monitor-compensation.ts";
import { startAgain } from "./monitor-generations.ts";
import { checkOperatorAction } from "./monitor-operator-actions.ts";
import { checkTrim } from "./monitor-trim.ts";
import { checkTimedOut } from "./monitor-waits.ts";
import {
  generationOf,
  type NamedNode,
  namedNodes,
  nodeName,
  type ProgramInput,
  type StepNode,
  stepValue,
  type TransactionNode,
} from "./program.ts";
import type { ExpectedState, SimProcess, SimulationContext } from "./simulation-context.ts";

type Append = Extract<Transition, { kind: "append" }>;
type Stopped = Extract<Extract<Transition, { kind: "control" }>["state"], { status: "compensating" }>;
type CommitApplied = Extract<AppliedCall, { kind: "commit" }>;

/** The state of a run within a batch. */
interface Place {
  epoch: number;
  over: boolean;
  owner: string | null;
}

/** Checks every append: its writer, its epoch, its order, and the truth of its records. */
export class JournalMonitor {
  readonly #monitor: ExpectedState;
  readonly #simulation: SimulationContext;
  readonly #known: Known;
  readonly #nodes: ReadonlyArray<ReadonlyMap<string, NamedNode>>;

  constructor(monitor: ExpectedState, simulation: SimulationContext) {
    this.#monitor = monitor;
    this.#simulation = simulation;
    this.#known = { expectedRuns: monitor.expectedRuns, nodesOf: (expectedRun) => this.#nodesOf(expectedRun) };
    this.#nodes = simulation.case.programs.map((program) => namedNodes(program.nodes));
  }

  check(worker: SimProcess, { batch, commit }: CommitApplied, before: ReadonlyMap<string, Run>): void {
    const places = new Map<string, Place>();
    for (const [index, transition] of batch.entries()) {
      const answer = commit.answers[index];
      if (answer?.kind !== "applied" || answer.again) continue;
      if (transition.kind === "append") this.#append(worker, transition, placeOf(places, before, transition.runId));
      else if (transition.kind === "control") this.#control(transition, placeOf(places, before, transition.runId));
    }
  }

  /** I1: the journal of each written run contains the earlier records and the added ones. */
  async compare({ batch }: CommitApplied): Promise<void> {
    const ids = new Set(batch.flatMap((transition) => ("runId" in transition ? [transition.runId] : [])));
    for (const id of ids) {
      const expectedRun = this.#monitor.expectedRuns.get(id);
      if (expectedRun === undefined || expectedRun.isGone) continue;
      checkUndone(this.#monitor, this.#known, expectedRun);
      const stored = await this.#simulation.store.reader.journal(id, {
        afterSeq: expectedRun.row.baseSeq,
        limit: 10_000,
      });
      const same =
        stored.length === expectedRun.journal.length &&
        stored.every((record, index) => isSame(record, expectedRun.journal[index]));
      if (!same) {
        const texts = [stored, expectedRun.journal].map((records) =>
          records.map((record) => `${record.seq}@${record.location}`).join(" "),
        );
        this.#monitor.violate("I1", `run ${id}: the journal is [${texts[0]}]; expected [${texts[1]}]`);
      }
    }
  }

  checkChildrenUndone(): void {
    for (const expectedRun of this.#monitor.expectedRuns.values())
      checkChildrenUndone(this.#monitor, this.#known, expectedRun);
  }

  #append(worker: SimProcess, append: Append, place: Place | null): void {
    const expectedRun = this.#monitor.expectedRuns.get(append.runId);
    if (place === null || expectedRun === undefined) return;
    const { runId, epoch, records, state } = append;
    if (place.over) this.#monitor.violate("I6", `run ${runId} was written after its end`);
    const { lastOwner } = expectedRun;
    // The last owner of a freed run may append until the run is claimed.
    const owner = place.owner ?? (lastOwner.epoch === place.epoch ? lastOwner.owner : null);
    if (epoch !== place.epoch || owner !== worker.engineId) {
      this.#monitor.violate(
        "I2",
        `${worker.name} wrote run ${runId} with epoch ${epoch}; the run has epoch ${place.epoch} and owner ${place.owner}`,
      );
    }
    this.#version(expectedRun, records[0]);
    for (const record of records) this.#record(worker, expectedRun, record, epoch);
    this.#simulation.monitor.effects.runStopped(worker, append);
    checkTrim(this.#monitor, expectedRun, append, this.#known);
    expectedRun.isChanged = worker.isChanged;
    if (state === null) return;
    expectedRun.suspendedAt = state.status === "suspended" ? newestSeq(expectedRun) : null;
    if (state.status === "running" || state.status === "suspended") expectedRun.inboxSeen = state.inboxSeen;
    if (state.status === "released" || state.status === "paused") place.owner = null;
    if (state.status === "completed" || state.status === "failed" || state.status === "cancelled") place.over = true;
    if (state.status === "continued") {
      expectedRun.journal = [];
      expectedRun.history = [];
      expectedRun.actions.clear();
      expectedRun.doneBy.clear();
      expectedRun.retries.clear();
    }
  }

  #control(control: Extract<Transition, { kind: "control" }>, place: Place | null): void {
    const { runId, epoch, state, journal } = control;
    const expectedRun = this.#monitor.expectedRuns.get(runId);
    if (place === null || expectedRun === undefined) return;
    if (state.status === "compensating") this.#stopped(expectedRun, state);
    if (place.over && state.status !== "reopened" && state.status !== "restarted")
      this.#monitor.violate("I6", `run ${runId} was controlled after its end`);
    if (state.status === "restarted") {
      if (!place.over) this.#monitor.violate("I6", `run ${runId} was started again before its end`);
      startAgain(this.#monitor, expectedRun, control);
    } else if (journal !== null) checkOperatorAction(this.#monitor, expectedRun, journal);
    if (epoch !== place.epoch)
      this.#monitor.violate("I2", `run ${runId} was controlled with epoch ${epoch}; the run has epoch ${place.epoch}`);
    place.epoch += 1;
    place.owner = null;
    expectedRun.suspendedAt = null;
    place.over = state.status === "cancelled" || state.status === "failed";
  }

  /** A cancel or a failure of a run with something to roll back: the store adds a record that stops its program. */
  #stopped(expectedRun: ExpectedRun, { reason, at, end = "cancelled" }: Stopped): void {
    const record: JournalRecord = {
      seq: newestSeq(expectedRun) + 1,
      location: "~compensate",
      kind: "compensate",
      outcome: "failed",
      payload: reason,
      attempts: 0,
      startedAt: at,
      at,
      detail: end,
    };
    checkUndo(this.#monitor, this.#known, expectedRun, record);
    expectedRun.journal.push(record);
    expectedRun.history.push(record);
  }

  /** A suspended run has passed every version that it can reach without another record. It keeps the first version there. */
  #version({ id, suspendedAt }: ExpectedRun, next: JournalRecord | undefined): void {
    if (next?.kind !== "version" || suspendedAt === null || next.seq !== suspendedAt + 1) return;
    this.#monitor.violate("version", `run ${id} got a new version at ${next.location}, but it was suspended beyond it`);
  }

  #record(worker: SimProcess, expectedRun: ExpectedRun, record: JournalRecord, epoch: number): void {
    const { row } = expectedRun;
    const last = expectedRun.journal.at(-1);
    const expected = newestSeq(expectedRun) + 1;
    if (record.seq !== expected)
      this.#monitor.violate("I1", `run ${row.id}: record ${record.seq} where ${expected} follows`);
    if (last !== undefined && record.at < last.at)
      this.#monitor.violate("time", `run ${row.id}: record ${record.seq} is older than the previous record`);
    checkUndo(this.#monitor, this.#known, expectedRun, record);
    expectedRun.journal.push(record);
    expectedRun.history.push(record);
    const { location } = record;
    if (record.kind === "retry") {
      expectedRun.retries.set(location, { attempts: record.attempts, retryAt: Number(record.detail) });
    } else if (record.kind !== "warning" && record.kind !== "started") {
      if (expectedRun.doneBy.has(location))
        this.#monitor.violate("I3", `run ${row.id}: ${location} was completed twice`);
      expectedRun.doneBy.set(location, { engineId: worker.engineId, epoch });
      const generation = generationOf(row);
      const done = expectedRun.done.get(generation) ?? new Set();
      expectedRun.done.set(generation, done.add(location));
    }
    if (record.kind === "spawn" && record.detail !== null)
      expectedRun.spawned.set(record.detail, (expectedRun.spawned.get(record.detail) ?? 0) + 1);
    this.#truth(expectedRun, record);
  }

  /** Checks the contents of a record: values of steps, deadlines, ends of children. */
  #truth(expectedRun: ExpectedRun, record: JournalRecord): void {
    const { row } = expectedRun;
    const node = this.#nodesOf(expectedRun).get(nodeName(record.location));
    if (node === undefined) return;
    if (record.kind === node.kind && (node.kind === "step" || node.kind === "transaction"))
      this.#stepTruth(row, record, node);
    this.#deadline(expectedRun, record, node);
    if (record.kind === "child") this.#childEnd(expectedRun, record);
  }

  #stepTruth(row: Run, record: JournalRecord, node: StepNode | TransactionNode): void {
    const { location, attempts, outcome, payload } = record;
    const value = stepValue(row.id, generationOf(row), location, attempts);
    if (outcome === "ok" && JSON.parse(payload ?? "null") !== value)
      this.#monitor.violate("value", `run ${row.id}: step ${location} is recorded with ${payload}`);
    const isTimed = node.kind === "step" && node.timeoutMs !== null;
    if (!isTimed && outcome === "ok" && attempts !== node.failures + 1) {
      const at = node.failures + 1;
      this.#monitor.violate(
        "attempts",
        `run ${row.id}: step ${location} succeeded at attempt ${attempts}; expected attempt ${at}`,
      );
    }
    if (attempts > node.maxAttempts)
      this.#monitor.violate("attempts", `run ${row.id}: step ${location} took ${attempts} attempts`);
  }

  #nodesOf({ row }: ExpectedRun): ReadonlyMap<string, NamedNode> {
    const input = JSON.parse(row.input ?? "null") as ProgramInput;
    return this.#nodes[input.p] ?? new Map();
  }

  #deadline(expectedRun: ExpectedRun, record: JournalRecord, node: NamedNode): void {
    const { row } = expectedRun;
    const expired =
      record.kind === "sleep" || record.outcome === "timedOut" || (record.kind === "select" && record.detail === "w");
    if (!expired) return;
    if ("topic" in node && node.topic !== null && (node.kind === "event" || node.kind === "select"))
      checkTimedOut(this.#monitor, expectedRun, record.location, node.topic);
    const ms =
      node.kind === "sleep"
        ? node.ms
        : node.kind === "select"
          ? node.afterMs
          : "timeoutMs" in node
            ? node.timeoutMs
            : null;
    const now = this.#simulation.storeNow;
    if (ms !== null && now < record.startedAt + ms) {
      this.#monitor.violate(
        "time",
        `run ${row.id}: ${record.location} expired at ${now}, before ${record.startedAt + ms}`,
      );
    }
  }

  #childEnd({ row, history }: ExpectedRun, record: JournalRecord): void {
    const location = record.location.replace(/\/(result|~rollback\/~end)$/, "");
    const spawn = history.findLast((other) => other.kind === "spawn" && other.location === location);
    const child = this.#monitor.expectedRuns.get(spawn?.detail ?? "");
    const ended = child !== undefined && (hasEnded(child.row) || child.reopened > 0);
    if (!ended)
      this.#monitor.violate("I8", `run ${row.id}: ${record.location} received the end of a child that has not ended`);
    else if (record.outcome === "ok" && child.row.outcome !== record.payload && child.reopened === 0)
      this.#monitor.violate("I8", `run ${row.id}: ${record.location} received another result than its child returned`);
  }
}

function newestSeq({ journal, row }: ExpectedRun): number {
  return journal.at(-1)?.seq ?? row.baseSeq;
}

function placeOf(places: Map<string, Place>, before: ReadonlyMap<string, Run>, runId: string): Place | null {
  const known = places.get(runId);
  if (known !== undefined) return known;
  const row = before.get(runId);
  if (row === undefined) return null;
  const place = { epoch: row.epoch, over: hasEnded(row), owner: row.owner };
  places.set(runId, place);
  return place;
}

function isSame(left: JournalRecord, right: JournalRecord | undefined): boolean {
  return (
    right !== undefined &&
    left.seq === right.seq &&
    left.location === right.location &&
    left.kind === right.kind &&
    left.outcome === right.outcome &&
    left.payload === right.payload &&
    left.detail === right.detail &&
    left.at === right.at
  );
}
