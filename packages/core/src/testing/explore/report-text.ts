import type { Finding } from "./finding.ts";

/** What was found, as a text that a failing test shows. */
export function reportText(workflow: string, schedules: number, findings: readonly Finding[]): string {
  if (findings.length === 0) return `${workflow}: ${schedules} schedules, nothing found`;
  const count = findings.length === 1 ? "1 thing is" : `${findings.length} things are`;
  return [`${count} wrong with workflow ${workflow} (${schedules} schedules)`, ...findings.map(told)].join("\n\n");
}

function told({ kind, message, fix, schedule, story }: Finding, index: number): string {
  const lines = story.map((line, at) =>
    line.startsWith(" ") ? `     ${line}` : `   ${String(at + 1).padStart(2)}. ${line}`,
  );
  return [
    `${index + 1}. ${kind}: ${message}`,
    ...lines,
    `   ${fix}`,
    `   Again: explore(workflow, input, { …, schedule: ${JSON.stringify(schedule)} })`,
  ].join("\n");
}
