import { type Evidence, type Finding, grouped } from "./evidence.ts";

/** What transactions wrote and what the journals say of them is the same: each line once, and none without its record. */
export function checkBooks({ runs, books }: Evidence): readonly Finding[] {
  const written = grouped(books, ({ run, location }) => `${run} ${location}`);
  const findings: Finding[] = [];
  for (const { id, records } of runs) {
    for (const { kind, location, outcome, value } of records) {
      if (kind !== "transaction") continue;
      const place = `${id} ${location}`;
      const lines = (written.get(place) ?? []).map(({ body }) => body);
      written.delete(place);
      const expected = outcome === "ok" ? [value] : [];
      if (lines.length > expected.length) findings.push({ kind: "twice", text: `${place} has written ${lines}` });
      else if (lines.length < expected.length)
        findings.push({ kind: "lost", text: `${place} has not written ${value}` });
      else if (lines[0] !== expected[0])
        findings.push({ kind: "wrong", text: `${place} has written ${lines}, not ${value}` });
    }
  }
  for (const place of written.keys()) findings.push({ kind: "twice", text: `${place} has written, and has no record` });
  return findings;
}
