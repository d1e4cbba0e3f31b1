import { type Evidence, type Finding, grouped } from "./evidence.ts";

/** The rows of transactions match their records: each row once, and none without a record. */
export function checkTransactionRows({ runs, transactionRows }: Evidence): readonly Finding[] {
  const written = grouped(transactionRows, ({ run, location }) => `${run} ${location}`);
  const findings: Finding[] = [];
  for (const { id, records } of runs) {
    for (const { kind, location, outcome, value } of records) {
      if (kind !== "transaction") continue;
      const place = `${id} ${location}`;
      const lines = (written.get(place) ?? []).map(({ body }) => body);
      written.delete(place);
      const expected = outcome === "ok" ? [value] : [];
      if (lines.length > expected.length) findings.push({ kind: "twice", text: `${place} wrote ${lines}` });
      else if (lines.length < expected.length) findings.push({ kind: "lost", text: `${place} did not write ${value}` });
      else if (lines[0] !== expected[0])
        findings.push({ kind: "wrong", text: `${place} wrote ${lines}; expected ${value}` });
    }
  }
  for (const place of written.keys()) findings.push({ kind: "twice", text: `${place} wrote without a record` });
  return findings;
}
