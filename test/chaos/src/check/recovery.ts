import type { Line } from "../entry.ts";
import { grouped } from "./evidence.ts";

/** How long runs made no progress after a kill of their worker, in ms. */
export interface Recovery {
  readonly count: number;
  readonly p50: number;
  readonly p99: number;
  readonly most: number;
}

/** Measures from the kill of a worker during a body until another worker starts the next body of that run. */
export function recoveryOf(lines: readonly Line[]): Recovery {
  const begins = lines.filter((line): line is Line<"begin"> => line.kind === "begin");
  const ends = new Set(lines.flatMap((line) => (line.kind === "end" ? [line.body] : [])));
  const byRun = grouped(begins, ({ run }) => run);
  const byProcess = grouped(begins, ({ process }) => process);
  const times: number[] = [];
  for (const line of lines) {
    if (line.kind !== "signal" || line.signal !== "SIGKILL") continue;
    const open = (byProcess.get(line.process) ?? []).filter(({ body }) => !ends.has(body));
    for (const run of new Set(open.map((begin) => begin.run))) {
      const next = (byRun.get(run) ?? []).find(({ process, at }) => process !== line.process && at >= line.at);
      if (next !== undefined) times.push(next.at - line.at);
    }
  }
  times.sort((left, right) => left - right);
  const at = (part: number): number => times[Math.min(times.length - 1, Math.floor(times.length * part))] ?? 0;
  return { count: times.length, p50: at(0.5), p99: at(0.99), most: times.at(-1) ?? 0 };
}
