import { expectedValue, isWorkflowName } from "../load/expected.ts";
import { type Evidence, type Finding, isTerminal, linesOf, type RunDump } from "./evidence.ts";
import { receivedInJournal, toldBy } from "./telling.ts";

/** What was acknowledged is there, is over, and came to what it had to. */
export function checkCalls(evidence: Evidence): readonly Finding[] {
  const runs = new Map(evidence.runs.map((run) => [run.id, run]));
  return [
    ...checkStarts(evidence, runs),
    ...checkCancels(evidence, runs),
    ...checkResults(evidence, runs),
    ...evidence.runs.flatMap(checkRun),
  ];
}

function checkStarts(evidence: Evidence, runs: ReadonlyMap<string, RunDump>): readonly Finding[] {
  return linesOf(evidence, "acked").flatMap(({ action }): readonly Finding[] => {
    if (action.kind !== "start" || runs.has(action.run)) return [];
    return [{ kind: "lost", text: `the start of run ${action.run} was acknowledged, and there is no such run` }];
  });
}

/** A cancel that was answered with yes is how the run ended. One that was repeated after an unknown outcome may hear no. */
function checkCancels(evidence: Evidence, runs: ReadonlyMap<string, RunDump>): readonly Finding[] {
  const asked = new Set<string>();
  for (const { action } of linesOf(evidence, "sent")) if (action.kind === "cancel") asked.add(action.run);
  const refuted = linesOf(evidence, "acked").flatMap(({ action, answer }): readonly Finding[] => {
    if (action.kind !== "cancel" || answer !== "cancelled") return [];
    const status = runs.get(action.run)?.status;
    return status === "cancelled"
      ? []
      : [{ kind: "lost", text: `run ${action.run} was cancelled, and it is ${status ?? "not there"}` }];
  });
  const unasked = evidence.runs.flatMap((run): readonly Finding[] =>
    run.status !== "cancelled" || run.parent !== null || asked.has(run.id)
      ? []
      : [{ kind: "wrong", text: `run ${run.id} is cancelled, and nobody asked for it` }],
  );
  return [...refuted, ...unasked];
}

/** What clients were told of an end is what the database says. */
function checkResults(evidence: Evidence, runs: ReadonlyMap<string, RunDump>): readonly Finding[] {
  return linesOf(evidence, "result").flatMap((line): readonly Finding[] => {
    const run = runs.get(line.run);
    const same =
      run?.status === line.status &&
      (line.status !== "completed" || JSON.stringify(run.output) === JSON.stringify(line.output));
    return same
      ? []
      : [{ kind: "wrong", text: `a client was told that run ${line.run} is ${line.status}, which is not its end` }];
  });
}

function checkRun(run: RunDump): readonly Finding[] {
  if (!isTerminal(run.status)) {
    return [{ kind: "lost", text: `run ${run.id} (${run.workflow}) is ${run.status}: it has not come to its end` }];
  }
  if (run.status === "failed") return [{ kind: "wrong", text: `run ${run.id} failed: ${run.error ?? "no reason"}` }];
  if (run.status !== "completed" || !isWorkflowName(run.workflow)) return [];
  const told = toldBy(run);
  const expected = expectedValue(run.workflow, run.input as never);
  if (told?.value !== expected) {
    return [
      { kind: "wrong", text: `run ${run.id} came to ${told?.value ?? "nothing"}, and had to come to ${expected}` },
    ];
  }
  const recorded = receivedInJournal(run);
  const suffix = told.received.slice(told.received.length - recorded.length);
  return JSON.stringify([...suffix].sort()) === JSON.stringify([...recorded].sort())
    ? []
    : [{ kind: "wrong", text: `run ${run.id} says that it received ${suffix}, and its journal says ${recorded}` }];
}
