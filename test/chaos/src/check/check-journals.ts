import { type Evidence, type Finding, grouped, linesOf, type RecordDump, type RunDump } from "./evidence.ts";

/** Journals are whole: each record once, none changed, none missing; children belong to the records that started them. */
export function checkJournals(evidence: Evidence): readonly Finding[] {
  return [
    ...evidence.runs.flatMap((run) => [...checkOrder(run), ...checkOnce(run), ...checkRetries(run)]),
    ...checkHeard(evidence),
    ...checkChildren(evidence),
  ];
}

function checkOrder(run: RunDump): readonly Finding[] {
  const findings: Finding[] = [];
  const { napMs = 0 } = run.input as { readonly napMs?: number };
  let seq = run.baseSeq;
  let at = 0;
  for (const record of run.records) {
    seq += 1;
    if (record.seq !== seq) {
      findings.push({ kind: "lost", text: `run ${run.id}: record ${record.seq} stands where ${seq} has to` });
      seq = record.seq;
    }
    if (record.at < at)
      findings.push({ kind: "wrong", text: `run ${run.id}: record ${seq} is older than the one before` });
    at = record.at;
    if (record.kind === "sleep" && record.at < record.startedAt + napMs) {
      findings.push({ kind: "wrong", text: `run ${run.id}: the sleep at ${record.location} was over too early` });
    }
  }
  return findings;
}

/** A location has one record that completes it. `child` completes what `spawn` started, at a location of its own. */
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

/** Tries that failed are recorded as 1, 2, 3 …, and the one that completed the step follows them. */
function checkRetries(run: RunDump): readonly Finding[] {
  const tries = run.records.filter(({ kind }) => kind === "step" || kind === "retry");
  return [...grouped(tries, ({ location }) => location)].flatMap(([location, records]): readonly Finding[] => {
    const attempts = records.map((record) => record.attempts);
    const inOrder = attempts.every((attempt, index) => attempt === index + 1);
    const last = records.at(-1);
    if (inOrder && records.slice(0, -1).every(isRetry) && last !== undefined) return [];
    return [{ kind: "wrong", text: `run ${run.id}: the tries at ${location} are recorded as ${attempts}` }];
  });
}

function isRetry({ kind }: RecordDump): boolean {
  return kind === "retry";
}

/** What a worker heard as committed is there and unchanged, unless its generation is over; and no two heard different things. */
function checkHeard(evidence: Evidence): readonly Finding[] {
  const heard = new Map<string, string>();
  const there = new Map<string, string>();
  const base = new Map(evidence.runs.map((run) => [run.id, run.baseSeq]));
  for (const { id, records } of evidence.runs) {
    for (const { seq, location, digest } of records) there.set(`${id} ${seq}`, `${location} ${digest}`);
  }
  return linesOf(evidence, "record").flatMap(({ run, seq, location, digest }): readonly Finding[] => {
    const key = `${run} ${seq}`;
    const text = `${location} ${digest}`;
    const before = heard.get(key) ?? text;
    heard.set(key, text);
    if (before !== text) {
      return [{ kind: "twice", text: `run ${run}: record ${seq} was committed as ${before} and as ${text}` }];
    }
    const kept = seq <= (base.get(run) ?? 0) ? text : there.get(key);
    if (kept === text) return [];
    return [
      { kind: "lost", text: `run ${run}: record ${seq} (${text}) was committed, and it is ${kept ?? "not there"}` },
    ];
  });
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
    const known = records.some(({ kind, detail }) => kind === "spawn" && detail === id);
    return known ? [] : [{ kind: "wrong", text: `run ${id} is a child, and no record of its parent says so` }];
  });
  const missing = runs.flatMap((run) =>
    run.records.flatMap(({ kind, detail }): readonly Finding[] =>
      kind !== "spawn" || byId.has(detail ?? "") ? [] : [{ kind: "lost", text: `the child ${detail} is not there` }],
    ),
  );
  return [...twice, ...orphans, ...missing];
}
