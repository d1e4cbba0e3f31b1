import type { Line } from "../entry.ts";
import { type Evidence, type Finding, grouped, linesOf, type RunDump } from "./evidence.ts";
import { type Loss, lossesByProcess } from "./losses.ts";
import { bodyIn, committedBodies, ownRecords } from "./run-evidence.ts";

export interface BodiesVerdict {
  readonly findings: readonly Finding[];
  /** The number of repeated attempts. */
  readonly duplicates: number;
}

type Begin = Line<"begin">;

/**
 * Checks step bodies against their records. Epochs order them without a clock: a claim with a higher epoch comes after every commit
 * with a lower one. The value in a record identifies the attempt, and so the epoch, that committed it.
 *
 * 1. The value of a record comes from a body that started and ended as recorded.
 * 2. No body starts with a higher epoch than the one that committed its completion.
 * 3. An attempt starts twice only if the process of the first start may have lost the run in between.
 * 4. A step of a chain starts with no lower epoch than the one that committed the previous step. A retry does not start early.
 */
export function checkBodies(evidence: Evidence): BodiesVerdict {
  const begins = new Map(linesOf(evidence, "begin").map((line) => [line.body, line]));
  const ends = new Map(linesOf(evidence, "end").map((line) => [line.body, line]));
  const losses = lossesByProcess(evidence);
  const places = grouped([...begins.values()], ({ run, round, location }) => `${run} ${round} ${location}`);
  const findings: Finding[] = [];
  const committed = new Map<string, Begin>();
  for (const run of evidence.runs) {
    findings.push(...checkValues(run, begins, ends));
    for (const body of committedBodies(run)) {
      const begin = begins.get(body);
      if (begin === undefined) continue;
      const place = `${begin.run} ${begin.round} ${begin.location}`;
      if (committed.has(place)) findings.push({ kind: "twice", text: `two attempts are committed at ${place}` });
      committed.set(place, begin);
    }
    findings.push(...checkFailedAttempts(run, begins, places), ...checkChain(run, begins, places));
  }
  let duplicates = 0;
  for (const [place, group] of places) {
    findings.push(...checkAfterCommit(place, group, committed.get(place) ?? null));
    for (const attempts of grouped(group, ({ attempt }) => String(attempt)).values()) {
      duplicates += attempts.length - 1;
      findings.push(...checkDuplicates(place, attempts, losses));
    }
  }
  return { findings, duplicates };
}

function checkValues(
  run: RunDump,
  begins: ReadonlyMap<string, Begin>,
  ends: ReadonlyMap<string, Line<"end">>,
): readonly Finding[] {
  return ownRecords(run).flatMap((record): readonly Finding[] => {
    if (record.kind !== "step" && record.kind !== "retry") return [];
    if (isCallOfEngine(record.location)) return [];
    const body = bodyIn(record) ?? "";
    const begin = begins.get(body);
    const outcome = ends.get(body)?.outcome;
    const brought = record.outcome === "failed" ? "threw" : "returned";
    const fits = begin?.run === run.id && begin.location === record.location && begin.attempt === record.attempts;
    if (fits && outcome === brought) return [];
    return [
      { kind: "wrong", text: `run ${run.id}: no body returned the value of record ${record.seq} (${record.location})` },
    ];
  });
}

/** Compensation calls the store in steps of its own, whose failed attempts have no body of the load. */
function isCallOfEngine(location: string): boolean {
  return location.endsWith("/~rollback/~start") || location.endsWith("/~rollback/~close");
}

/** An attempt with a recorded failure is not repeated. The next attempt starts after that record and after its delay. */
function checkFailedAttempts(
  run: RunDump,
  begins: ReadonlyMap<string, Begin>,
  places: ReadonlyMap<string, readonly Begin[]>,
): readonly Finding[] {
  return ownRecords(run).flatMap((record): readonly Finding[] => {
    const failed = record.kind === "retry" ? begins.get(bodyIn(record) ?? "") : undefined;
    if (failed === undefined) return [];
    const group = places.get(`${failed.run} ${failed.round} ${failed.location}`) ?? [];
    return group.flatMap((begin): readonly Finding[] => {
      const name = `run ${run.id}: attempt ${begin.attempt} of ${record.location}`;
      if (begin.attempt <= record.attempts) {
        return begin.epoch > failed.epoch
          ? [{ kind: "twice", text: `${name} started after attempt ${record.attempts} was committed as failed` }]
          : [];
      }
      const early = begin.attempt === record.attempts + 1 && begin.at < Number(record.detail);
      if (begin.epoch >= failed.epoch && !early) return [];
      return [
        {
          kind: "wrong",
          text: `${name} started before the previous failure was committed, or before its delay had passed`,
        },
      ];
    });
  });
}

/** In a chain every step waits for the previous one, except after an ephemeral step. */
function checkChain(
  run: RunDump,
  begins: ReadonlyMap<string, Begin>,
  places: ReadonlyMap<string, readonly Begin[]>,
): readonly Finding[] {
  if (run.workflow !== "chain") return [];
  const findings: Finding[] = [];
  let before: Begin | null = null;
  for (const record of run.records) {
    const begin = record.kind === "step" ? begins.get(bodyIn(record) ?? "") : undefined;
    if (begin === undefined) continue;
    for (const other of places.get(`${begin.run} ${begin.round} ${begin.location}`) ?? []) {
      if (before === null || other.epoch >= before.epoch) continue;
      findings.push({
        kind: "wrong",
        text: `run ${run.id}: ${begin.location} started before ${before.location} was committed`,
      });
    }
    before = record.location === "light" ? null : begin;
  }
  return findings;
}

function checkAfterCommit(place: string, group: readonly Begin[], committed: Begin | null): readonly Finding[] {
  if (committed === null) return [];
  return group.flatMap((begin): readonly Finding[] =>
    begin.epoch > committed.epoch || (begin.epoch === committed.epoch && begin.attempt > committed.attempt)
      ? [
          {
            kind: "twice",
            text: `${place} was executed again (epoch ${begin.epoch}) after its commit (epoch ${committed.epoch})`,
          },
        ]
      : [],
  );
}

function checkDuplicates(
  place: string,
  attempts: readonly Begin[],
  losses: ReadonlyMap<string, readonly Loss[]>,
): readonly Finding[] {
  const ordered = [...attempts].sort((a, b) => a.epoch - b.epoch || a.at - b.at);
  return ordered.slice(1).flatMap((later, index): readonly Finding[] => {
    const earlier = ordered[index];
    if (earlier === undefined) return [];
    // The body with the lower epoch may start later, in a process that was stopped and has not noticed its loss.
    const explained = (losses.get(earlier.process) ?? []).some(
      ({ from, until }) => from <= later.at && until >= earlier.at,
    );
    if (explained && later.epoch > earlier.epoch) return [];
    const epochs = `epochs ${earlier.epoch} and ${later.epoch}`;
    const text = `${place}, attempt ${later.attempt}, started in ${earlier.process} and in ${later.process} (${epochs})`;
    return [{ kind: "duplicate", text: `${text}, although the first process had not lost the run` }];
  });
}
