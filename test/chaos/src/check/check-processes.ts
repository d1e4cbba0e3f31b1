import { type Evidence, type Finding, linesOf } from "./evidence.ts";

/** Processes end only when they are made to, and well when they were asked; the database's file is sound. */
export function checkProcesses(evidence: Evidence): readonly Finding[] {
  const killed = new Set(
    linesOf(evidence, "signal").flatMap(({ process, signal }) => (signal === "SIGKILL" ? process : [])),
  );
  const exits = linesOf(evidence, "exit").flatMap(({ process, code, asked }): readonly Finding[] => {
    if (!asked) return [{ kind: "wrong", text: `${process} ended by itself, or not when asked (code ${code})` }];
    if (killed.has(process) || code === 0) return [];
    return [{ kind: "wrong", text: `${process} was asked to end and did so with code ${code}` }];
  });
  const broken = linesOf(evidence, "broken").map(
    ({ process, text }): Finding => ({
      kind: "wrong",
      text: `${process}: ${text}`,
    }),
  );
  const file = evidence.integrity.filter((text) => text !== "ok");
  return [...exits, ...broken, ...file.map((text): Finding => ({ kind: "wrong", text: `the database file: ${text}` }))];
}
