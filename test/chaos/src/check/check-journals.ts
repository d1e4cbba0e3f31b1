import { type Evidence, type Finding, grouped, linesOf, type RecordDump, type RunDump } from "./evidence.ts";

/** Journals are complete: each record once, none changed, none missing. Children belong to the records that started them. */
export function checkJournals(evidence: Evidence): readonly Finding[] {
  return [
    ...evidence.runs.flatMap((run) => [...checkOrder(run), ...checkOnce(run), ...checkRetries(run)]),
    ...checkReported(evidence),
    ...checkChildren(evidence),
  ];
}

function checkOrder(run: RunDump): readonly Finding[] {
  const findings: Finding[] = [];
  const { napMs = 0, clashMs = 0 } = run.input as { readonly napMs?: number; readonly clashMs?: number };
  let seq = run.baseSeq;
  let at = 0;
  for (const record of run.records) {
    seq += 1;
    if (record.seq !== seq) {
      findings.push({ kind: "lost", text: `run ${run.id}: found record ${record.seq} at the position of ${seq}` });
      seq = record.seq;
    }
    // A cancel by another process has the time of its decision. The owner may commit an append between the decision and its commit.
    if (record.kind !== "compensate" && record.at < at)
      findings.push({ kind: "wrong", text: `run ${run.id}: record ${seq} is older than the previous record` });
    at = Math.max(at, record.at);
    const sleptMs = record.location === "clash" ? clashMs : napMs;
    if (record.kind === "sleep" && record.at < record.startedAt + sleptMs) {
      findings.push({ kind: "wrong", text: `run ${run.id}: the sleep at ${record.location} ended too early` });
    }
  }
  return findings;
}

/** A location has one completing record. A `child` record completes a `spawn` record at its own location. */
function checkOnce(run: RunDump): readonly Finding[] {
  const completing = run.records.filter(({ kind }) => kind !== "retry");
  return [...grouped(completing, ({ location }) => location)].flatMap(([location, records]): readonly Finding[] =>
    records.length === 1
      ? []
      : [
          {
            kind: "twice",
            text: `run ${run.id}: ${location} is completed by records ${records.map(({ seq }) => seq)}`,
          },
        ],
  );
}

/** Failed attempts are recorded as 1, 2, 3 …, followed by the completing attempt. */
function checkRetries(run: RunDump): readonly Finding[] {
  // A rollback without attempts is the wait for the run that undoes a child.
  const attemptRecords = run.records.filter(
    ({ kind, attempts }) => kind === "step" || (kind === "rollback" && attempts > 0) || kind === "retry",
  );
  return [...grouped(attemptRecords, ({ location }) => location)].flatMap(([location, records]): readonly Finding[] => {
    const attempts = records.map((record) => record.attempts);
    const inOrder = attempts.every((attempt, index) => attempt === index + 1);
    const last = records.at(-1);
    if (inOrder && records.slice(0, -1).every(isRetry) && last !== undefined) return [];
    return [{ kind: "wrong", text: `run ${run.id}: the attempts at ${location} are recorded as ${attempts}` }];
  });
}

function isRetry({ kind }: RecordDump): boolean {
  return kind === "retry";
}

/** A record that was reported as committed exists unchanged, unless its generation has ended. No two reports differ. */
function checkReported(evidence: Evidence): readonly Finding[] {
  const reported = new Map<string, string>();
  const there = new Map<string, string>();
  const base = new Map(evidence.runs.map((run) => [run.id, run.baseSeq]));
  for (const { id, records } of evidence.runs) {
    for (const { seq, location, digest } of records) there.set(`${id} ${seq}`, `${location} ${digest}`);
  }
  return linesOf(evidence, "record").flatMap(({ run, seq, location, digest }): readonly Finding[] => {
    const key = `${run} ${seq}`;
    const text = `${location} ${digest}`;
    const before = reported.get(key) ?? text;
    reported.set(key, text);
    if (before !== text) {
      return [{ kind: "twice", text: `run ${run}: record ${seq} was committed as ${before} and as ${text}` }];
    }
    const kept = seq <= (base.get(run) ?? 0) ? text : there.get(key);
    if (kept === text) return [];
    return [{ kind: "lost", text: `run ${run}: record ${seq} (${text}) was committed, but is ${kept ?? "missing"}` }];
  });
}

/** The run that a `spawn` record started: a child, or the run that undoes one. Null if there was nothing to undo. */
function startedBy({ detail, value }: RecordDump): string | null {
  return detail ?? (typeof value === "string" ? value : null);
}

function checkChildren({ runs }: Evidence): readonly Finding[] {
  const byId = new Map(runs.map((run) => [run.id, run]));
  const children = runs.filter((run) => run.parent !== null);
  const byPlace = grouped(children, ({ parent }) => `${parent?.runId} ${parent?.location}`);
  const twice = [...byPlace].flatMap(([place, group]): readonly Finding[] =>
    group.length === 1 ? [] : [{ kind: "twice", text: `${group.length} children were started at ${place}` }],
  );
  const orphans = children.flatMap(({ id, parent }): readonly Finding[] => {
    const records = byId.get(parent?.runId ?? "")?.records ?? [];
    const known = records.some((record) => record.kind === "spawn" && startedBy(record) === id);
    return known ? [] : [{ kind: "wrong", text: `run ${id} is a child, but no record of its parent started it` }];
  });
  const missing = runs.flatMap((run) =>
    run.records.flatMap((record): readonly Finding[] => {
      const child = record.kind === "spawn" ? startedBy(record) : null;
      return child === null || byId.has(child) ? [] : [{ kind: "lost", text: `the child ${child} does not exist` }];
    }),
  );
  return [...twice, ...orphans, ...missing];
}
