import { evaluateProgram } from "./evaluate.ts";
import { checkLimits, limitOf } from "./limits.ts";
import type { ProgramInput } from "./program.ts";
import { replayRuns } from "./replay.ts";
import type { Shadow } from "./shadow.ts";
import type { World } from "./world.ts";

/** What must hold when every run has ended: results are those of the model, nothing that was accepted is lost, replay agrees. */
export async function checkEnds(world: World): Promise<void> {
  for (const shadow of world.monitor.shadows.values()) checkEnd(world, shadow);
  for (const { worker, line } of world.bodies.held) {
    world.monitor.violate("resource", `run ${line.runId} is over, and ${worker.name} holds ${line.held.join()} for it`);
  }
  await checkAccepted(world);
  await replayRuns(world);
}

function checkEnd(world: World, shadow: Shadow): void {
  const { row, history } = shadow;
  const isPoisoned = (row.outcome ?? "").includes('"POISONED"');
  if (world.client.cancelled.has(row.id) && row.status !== "cancelled" && shadow.reopened === 0 && !isPoisoned)
    world.monitor.violate("I6", `run ${row.id} was cancelled, and it is ${row.status}`);
  checkLimits(world, shadow);
  if (row.status === "cancelled" || limitOf(shadow) !== null) return;
  const input = JSON.parse(row.input ?? "null") as ProgramInput;
  const program = world.case.programs[input.p];
  if (program === undefined) return;
  const expected = evaluateProgram(program, history);
  const outcome = JSON.parse(row.outcome ?? "null") as { values?: unknown; message?: string; code?: string } | null;
  if (row.status === "failed" && outcome?.code === "POISONED" && shadow.claimsMost > world.case.settings.claimsMax)
    return;
  const told =
    row.status === "completed"
      ? { kind: "value", is: JSON.stringify(outcome?.values) }
      : { kind: "error", is: outcome?.message };
  const meant =
    expected.kind === "value" ? JSON.stringify(expected.value) : expected.kind === "error" ? expected.message : null;
  if (told.kind !== expected.kind || told.is !== meant) {
    world.monitor.violate(
      "model",
      `run ${row.id} ${row.status} with ${told.is}; its records make ${expected.kind} ${meant}`,
    );
  }
  if (row.status === "completed" && input.g !== program.generations) {
    world.monitor.violate("model", `run ${row.id} ended in generation ${input.g} of ${program.generations}`);
  }
}

/** I4: an accepted message came into its run's inbox; what was not received became what its policy says. */
async function checkAccepted(world: World): Promise<void> {
  const letters = new Set(
    (await world.store.reader.deadLetters({ limit: 1000 })).items.map((letter) => `${letter.target} ${letter.id}`),
  );
  const policies = new Map(
    world.case.actions.flatMap((action) => (action.kind === "send" ? [[action.id, action.policy] as const] : [])),
  );
  for (const { to, id } of world.client.accepted) {
    const shadow = world.monitor.shadows.get(to);
    const n = shadow?.known.get(`message:${id}`);
    if (shadow === undefined || !shadow.posted.has(id)) {
      world.monitor.violate("I4", `message ${id} to run ${to} was accepted and never came there`);
    } else if (
      (n === undefined || !shadow.received.has(n)) &&
      policies.get(id) === "deadLetter" &&
      !shadow.restored.has(id) &&
      !world.monitor.lettersTaken.has(`${to}//${id}`) &&
      !letters.has(`${to} ${to}//${id}`)
    ) {
      world.monitor.violate("I4", `message ${id} was left behind by run ${to} and is no dead letter`);
    }
  }
}
