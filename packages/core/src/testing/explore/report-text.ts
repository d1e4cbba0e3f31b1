import type { Finding } from "./finding.ts";

/** The findings as the message of a failing test. */
export function reportText(workflow: string, schedules: number, findings: readonly Finding[]): string {
  if (findings.length === 0) return `${workflow}: ${schedules} schedules, no findings`;
  const count = findings.length === 1 ? "1 finding" : `${findings.length} findings`;
  return [`${count} in workflow ${workflow} (${schedules} schedules)`, ...findings.map(findingText)].join("\n\n");
}

function findingText({ kind, message, fix, schedule, story }: Finding, index: number): string {
  const lines = story.map((line, at) =>
    line.startsWith(" ") ? `     ${line}` : `   ${String(at + 1).padStart(2)}. ${line}`,
  );
  return [
    `${index + 1}. ${kind}: ${message}`,
    ...lines,
    `   ${fix}`,
    `   Reproduce: explore(workflow, input, { …, schedule: ${JSON.stringify(schedule)} })`,
  ].join("\n");
}
