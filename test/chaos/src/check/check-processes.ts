import { type Evidence, type Finding, linesOf } from "./evidence.ts";

/** Processes exit only when killed or requested, and with code 0 when requested. The database file is intact. */
export function checkProcesses(evidence: Evidence): readonly Finding[] {
  const killed = new Set(
    linesOf(evidence, "signal").flatMap(({ process, signal }) => (signal === "SIGKILL" ? process : [])),
  );
  const exits = linesOf(evidence, "exit").flatMap(({ process, code, asked }): readonly Finding[] => {
    if (!asked) return [{ kind: "wrong", text: `${process} exited by itself, or not when requested (code ${code})` }];
    if (killed.has(process) || code === 0) return [];
    return [{ kind: "wrong", text: `${process} was requested to exit and exited with code ${code}` }];
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
