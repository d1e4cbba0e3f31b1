import { checkLimits, limitOf } from "./check-limits.ts";
import { replayRuns } from "./check-replay.ts";
import { evaluateProgram } from "./evaluate.ts";
import type { ExpectedRun } from "./expected-run.ts";
import { crashesInBodiesOnly } from "./generate-killer.ts";
import { generationInStart, type ProgramInput } from "./program.ts";
import type { Simulation } from "./simulation.ts";

/** Checks all runs after they have ended: results equal those of the model, no accepted message is lost, and replay agrees. */
export async function checkEndStates(simulation: Simulation): Promise<void> {
  for (const expectedRun of simulation.monitor.expectedRuns.values()) checkEnd(simulation, expectedRun);
  simulation.monitor.checkChildrenUndone();
  for (const { worker, execution } of simulation.bodies.held) {
    simulation.monitor.violate(
      "resource",
      `run ${execution.runId} has ended, but ${worker.name} still holds its resources ${execution.held.join()}`,
    );
  }
  await checkAccepted(simulation);
  await replayRuns(simulation);
}

function checkEnd(simulation: Simulation, expectedRun: ExpectedRun): void {
  const { row, history } = expectedRun;
  const isPoisoned = (row.outcome ?? "").includes('"POISONED"');
  if (
    simulation.client.cancelled.has(row.id) &&
    row.status !== "cancelled" &&
    expectedRun.reopened === 0 &&
    !isPoisoned
  )
    simulation.monitor.violate("I6", `run ${row.id} was cancelled, but its status is ${row.status}`);
  checkLimits(simulation, expectedRun);
  checkBlame(simulation, expectedRun);
  if (row.status === "cancelled" || limitOf(expectedRun) !== null) return;
  const input = JSON.parse(row.input ?? "null") as ProgramInput;
  const program = simulation.case.programs[input.p];
  if (program === undefined) return;
  const expected = evaluateProgram(program, history);
  const outcome = JSON.parse(row.outcome ?? "null") as { values?: unknown; message?: string; code?: string } | null;
  if (
    row.status === "failed" &&
    outcome?.code === "POISONED" &&
    expectedRun.claimsMost > simulation.case.settings.claimsMax
  )
    return;
  const actual =
    row.status === "completed"
      ? { kind: "value", text: JSON.stringify(outcome?.values) }
      : { kind: "error", text: outcome?.message };
  const expectedText =
    expected.kind === "value" ? JSON.stringify(expected.value) : expected.kind === "error" ? expected.message : null;
  if (actual.kind !== expected.kind || actual.text !== expectedText) {
    simulation.monitor.violate(
      "model",
      `run ${row.id} ${row.status} with ${actual.text}; the model of its records returns ${expected.kind} ${expectedText}`,
    );
  }
  if (row.status === "completed" && generationInStart(input) !== program.generations) {
    simulation.monitor.violate("model", `run ${row.id} ended in generation ${input.g} of ${program.generations}`);
  }
}

/** A run that crashed no worker is never poisoned, if nothing but runs crashed workers. */
function checkBlame({ case: plan, bodies, monitor }: Simulation, { row }: ExpectedRun): void {
  const outcome = JSON.parse(row.outcome ?? "null") as { readonly code?: string } | null;
  if (row.status !== "failed" || outcome?.code !== "POISONED" || !crashesInBodiesOnly(plan)) return;
  if (!bodies.killers.has(row.id)) monitor.violate("poison", `run ${row.id} is POISONED, but it crashed no worker`);
}

/** I4: every accepted message reached the inbox of its run. Messages that were not received were handled by their policy. */
async function checkAccepted(simulation: Simulation): Promise<void> {
  const letters = new Set(
    (await simulation.store.reader.deadLetters({ limit: 1000 })).items.map((letter) => `${letter.target} ${letter.id}`),
  );
  const policies = new Map(
    simulation.case.actions.flatMap((action) => (action.kind === "send" ? [[action.id, action.policy] as const] : [])),
  );
  for (const { to, id } of simulation.client.accepted) {
    const expectedRun = simulation.monitor.expectedRuns.get(to);
    const n = expectedRun?.known.get(`message:${id}`);
    if (expectedRun === undefined || !expectedRun.posted.has(id)) {
      simulation.monitor.violate("I4", `message ${id} to run ${to} was accepted but never reached it`);
    } else if (
      (n === undefined || !expectedRun.received.has(n)) &&
      policies.get(id) === "deadLetter" &&
      !expectedRun.restored.has(id) &&
      !simulation.monitor.lettersTaken.has(`${to}//${id}`) &&
      !letters.has(`${to} ${to}//${id}`)
    ) {
      simulation.monitor.violate("I4", `run ${to} ended without receiving message ${id}, which is no dead letter`);
    }
  }
}
