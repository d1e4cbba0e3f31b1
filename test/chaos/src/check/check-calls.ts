import { expectedValue, isWorkflowName } from "../load/expected.ts";
import type { Inputs } from "../load/inputs.ts";
import { type Evidence, type Finding, isTerminal, linesOf, type RunDump } from "./evidence.ts";
import { outputOf, receivedInJournal } from "./run-evidence.ts";

/** Acknowledged starts exist, all runs have ended, and results are as expected. */
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
    return [{ kind: "lost", text: `the start of run ${action.run} was acknowledged, but the run does not exist` }];
  });
}

/** A run whose cancel was acknowledged is cancelled. A cancel that was repeated after an unknown outcome may be answered with false. */
function checkCancels(evidence: Evidence, runs: ReadonlyMap<string, RunDump>): readonly Finding[] {
  const requested = new Set<string>();
  for (const { action } of linesOf(evidence, "sent")) if (action.kind === "cancel") requested.add(action.run);
  const lost = linesOf(evidence, "acked").flatMap(({ action, answer }): readonly Finding[] => {
    if (action.kind !== "cancel" || answer !== "cancelled") return [];
    const status = runs.get(action.run)?.status;
    return status === "cancelled"
      ? []
      : [{ kind: "lost", text: `run ${action.run} was cancelled, but is ${status ?? "missing"}` }];
  });
  const unrequested = evidence.runs.flatMap((run): readonly Finding[] =>
    run.status !== "cancelled" || run.parent !== null || requested.has(run.id)
      ? []
      : [{ kind: "wrong", text: `run ${run.id} is cancelled, but no client requested it` }],
  );
  return [...lost, ...unrequested];
}

/** Results that clients received equal those in the database. */
function checkResults(evidence: Evidence, runs: ReadonlyMap<string, RunDump>): readonly Finding[] {
  return linesOf(evidence, "result").flatMap((line): readonly Finding[] => {
    const run = runs.get(line.run);
    const same =
      run?.status === line.status &&
      (line.status !== "completed" || JSON.stringify(run.output) === JSON.stringify(line.output));
    return same
      ? []
      : [
          {
            kind: "wrong",
            text: `a client received the status ${line.status} of run ${line.run}, which ended otherwise`,
          },
        ];
  });
}

/** A transfer that is to fail never completes. */
function isPlannedFailure({ workflow, status, input }: RunDump): boolean {
  return workflow === "transfer" && status === "failed" && (input as Inputs["transfer"]).fate !== "settle";
}

function checkRun(run: RunDump): readonly Finding[] {
  if (!isTerminal(run.status)) {
    return [{ kind: "lost", text: `run ${run.id} (${run.workflow}) is ${run.status} and did not end` }];
  }
  if (isPlannedFailure(run)) return [];
  if (run.status === "failed") return [{ kind: "wrong", text: `run ${run.id} failed: ${run.error ?? "no reason"}` }];
  if (run.status !== "completed" || !isWorkflowName(run.workflow)) return [];
  if (run.workflow === "transfer" && (run.input as Inputs["transfer"]).fate !== "settle")
    return [{ kind: "wrong", text: `run ${run.id} completed, but it was planned to fail` }];
  const output = outputOf(run);
  const expected = expectedValue(run.workflow, run.input as never);
  if (output?.value !== expected) {
    return [{ kind: "wrong", text: `run ${run.id} returned ${output?.value ?? "nothing"}; expected ${expected}` }];
  }
  const recorded = receivedInJournal(run);
  const suffix = output.received.slice(output.received.length - recorded.length);
  return JSON.stringify([...suffix].sort()) === JSON.stringify([...recorded].sort())
    ? []
    : [{ kind: "wrong", text: `run ${run.id} returned that it received ${suffix}; its journal contains ${recorded}` }];
}
