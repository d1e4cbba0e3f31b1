import type { Line } from "../entry.ts";
import { type Evidence, type Finding, grouped, linesOf, type RunDump } from "./evidence.ts";
import { type Loss, lossesByProcess } from "./losses.ts";
import { bodyIn, committedBodies } from "./telling.ts";

export interface BodiesVerdict {
  readonly findings: readonly Finding[];
  /** Tries that ran more than once. */
  readonly duplicates: number;
}

type Begin = Line<"begin">;

/**
 * Step bodies and their records. Epochs order them without any clock: a claim under a higher epoch comes after every commit
 * under a lower one, and the value in a record says which try, and so which epoch, committed it.
 *
 * 1. What a record keeps was brought by a body that began and ended as the record says.
 * 2. No body begins under an epoch above the one that committed its completion.
 * 3. The same try begins twice only where the process of the first may have lost the run in between.
 * 4. A step of a chain begins under no epoch below the one that committed the step before; a retry not before its time.
 */
export function checkBodies(evidence: Evidence): BodiesVerdict {
  const begins = new Map(linesOf(evidence, "begin").map((line) => [line.body, line]));
  const ends = new Map(linesOf(evidence, "end").map((line) => [line.body, line]));
  const losses = lossesByProcess(evidence);
  const places = grouped([...begins.values()], ({ run, round, location }) => `${run} ${round} ${location}`);
  const findings: Finding[] = [];
  const committed = new Map<string, Begin>();
  for (const run of evidence.runs) {
    findings.push(...checkBrought(run, begins, ends));
    for (const body of committedBodies(run)) {
      const begin = begins.get(body);
      if (begin === undefined) continue;
      const place = `${begin.run} ${begin.round} ${begin.location}`;
      if (committed.has(place)) findings.push({ kind: "twice", text: `two tries are committed at ${place}` });
      committed.set(place, begin);
    }
    findings.push(...checkFailedTries(run, begins, places), ...checkChain(run, begins, places));
  }
  let duplicates = 0;
  for (const [place, group] of places) {
    findings.push(...checkAfterCommit(place, group, committed.get(place) ?? null));
    for (const tries of grouped(group, ({ attempt }) => String(attempt)).values()) {
      duplicates += tries.length - 1;
      findings.push(...checkDuplicates(place, tries, losses));
    }
  }
  return { findings, duplicates };
}

function checkBrought(
  run: RunDump,
  begins: ReadonlyMap<string, Begin>,
  ends: ReadonlyMap<string, Line<"end">>,
): readonly Finding[] {
  return run.records.flatMap((record): readonly Finding[] => {
    if (record.kind !== "step" && record.kind !== "retry") return [];
    const body = bodyIn(record) ?? "";
    const begin = begins.get(body);
    const outcome = ends.get(body)?.outcome;
    const brought = record.outcome === "failed" ? "threw" : "returned";
    const fits = begin?.run === run.id && begin.location === record.location && begin.attempt === record.attempts;
    if (fits && outcome === brought) return [];
    return [
      { kind: "wrong", text: `run ${run.id}: no body brought what record ${record.seq} (${record.location}) keeps` },
    ];
  });
}

/** A try whose failure is recorded does not run again, and the next begins neither before that nor before its time. */
function checkFailedTries(
  run: RunDump,
  begins: ReadonlyMap<string, Begin>,
  places: ReadonlyMap<string, readonly Begin[]>,
): readonly Finding[] {
  return run.records.flatMap((record): readonly Finding[] => {
    const failed = record.kind === "retry" ? begins.get(bodyIn(record) ?? "") : undefined;
    if (failed === undefined) return [];
    const group = places.get(`${failed.run} ${failed.round} ${failed.location}`) ?? [];
    return group.flatMap((begin): readonly Finding[] => {
      const name = `run ${run.id}: try ${begin.attempt} of ${record.location}`;
      if (begin.attempt <= record.attempts) {
        return begin.epoch > failed.epoch
          ? [{ kind: "twice", text: `${name} began after try ${record.attempts} was committed as failed` }]
          : [];
      }
      const early = begin.attempt === record.attempts + 1 && begin.at < Number(record.detail);
      if (begin.epoch >= failed.epoch && !early) return [];
      return [
        { kind: "wrong", text: `${name} began before the failure of the one before was committed and its wait over` },
      ];
    });
  });
}

/** In a chain every step waits for the one before; only what an ephemeral step brings is not waited for. */
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
        text: `run ${run.id}: ${begin.location} began before ${before.location} was committed`,
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
            text: `${place} ran again (epoch ${begin.epoch}) after it was committed (${committed.epoch})`,
          },
        ]
      : [],
  );
}

function checkDuplicates(
  place: string,
  tries: readonly Begin[],
  losses: ReadonlyMap<string, readonly Loss[]>,
): readonly Finding[] {
  const ordered = [...tries].sort((a, b) => a.epoch - b.epoch || a.at - b.at);
  return ordered.slice(1).flatMap((later, index): readonly Finding[] => {
    const earlier = ordered[index];
    if (earlier === undefined) return [];
    // The one with the lower epoch may even begin later: by a process that was stopped and does not know yet.
    const explained = (losses.get(earlier.process) ?? []).some(
      ({ from, until }) => from <= later.at && until >= earlier.at,
    );
    if (explained && later.epoch > earlier.epoch) return [];
    const epochs = `epochs ${earlier.epoch} and ${later.epoch}`;
    const text = `${place}, try ${later.attempt}, began in ${earlier.process} and in ${later.process} (${epochs})`;
    return [{ kind: "duplicate", text: `${text}, and the first had not lost it` }];
  });
}
