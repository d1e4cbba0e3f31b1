import type { Ctx } from "pawl";
import { type Frame, messageOf, placed } from "./interpreter-frame.ts";
import { runStep } from "./interpreter-leaves.ts";
import { type BranchesNode, branchName, type CtxLoopNode, type ProgramNode, within } from "./program.ts";

/** The branches of a join or a race, as functions. */
function branchesOf(frame: Frame, node: BranchesNode): Record<string, (ctx: Ctx) => Promise<unknown[]>> {
  const { location } = placed(frame, node.name);
  return Object.fromEntries(
    node.branches.map((branch, place) => [
      branchName(place),
      (ctx: Ctx) => frame.list({ ...frame, ctx, at: within(location, branchName(place)) }, branch),
    ]),
  );
}

export async function runJoin(frame: Frame, node: BranchesNode): Promise<unknown> {
  const joined = await frame.ctx.join(placed(frame, node.name).name, branchesOf(frame, node));
  return node.branches.map((_, place) => joined[branchName(place)]);
}

export async function runCtxRace(frame: Frame, node: BranchesNode): Promise<unknown> {
  const { name, location } = placed(frame, node.name);
  const { winner, value } = await frame.ctx.race(name, branchesOf(frame, node));
  for (const [place] of node.branches.entries()) {
    if (branchName(place) !== winner) frame.execution.lost.push(within(location, branchName(place)).path);
  }
  return { winner, value };
}

/** The state contains the results of all iterations, because a replay skips the iterations that were dropped. */
interface LoopState {
  readonly values: readonly unknown[];
  readonly extras: readonly unknown[];
}

export async function runCtxLoop(frame: Frame, node: CtxLoopNode): Promise<unknown> {
  const { Loop } = frame.host.pawl;
  const { name, location } = placed(frame, node.name);
  const { commitInterval, historyEvery, historyKeep } = node;
  const over = await frame.ctx.loop<LoopState, LoopState>({
    name,
    state: { values: [], extras: [] },
    commitInterval,
    historyEvery,
    historyKeep,
    run: async (ctx, state, iteration) => {
      const extras: unknown[] = [];
      const inner = { ...frame, ctx, extras, at: within(location, `~${iteration}`) };
      const values = await frame.list(inner, node.body);
      const next = { values: [...state.values, values], extras: [...state.extras, ...extras] };
      return iteration + 1 < node.times ? Loop.continue(next) : Loop.break(next);
    },
  });
  frame.extras.push(...over.extras);
  return over.values;
}

export async function runCtxTry(frame: Frame, node: Extract<ProgramNode, { kind: "ctxTry" }>): Promise<unknown> {
  const { name, location } = placed(frame, node.name);
  const at = { path: `${location}/`, suffix: "" };
  const result = await frame.ctx.try(name, (ctx) => frame.list({ ...frame, ctx, at }, node.body));
  return result.ok
    ? result.value
    : { source: result.failure.source, failure: messageOf(result.failure.error), scope: result.failure.scope };
}

/** A run that had passed this place before the code change keeps the old behaviour. */
export async function runVersion(frame: Frame, node: Extract<ProgramNode, { kind: "version" }>): Promise<unknown> {
  const { ctx, host, execution } = frame;
  if (!host.isChanged(execution.runId)) return await frame.list(frame, node.before);
  const version = await ctx.getVersion(placed(frame, node.name).name, 2);
  return await frame.list(frame, version === 1 ? node.before : node.after);
}

export async function runRemoved(frame: Frame, { was }: Extract<ProgramNode, { kind: "removed" }>): Promise<null> {
  const { ctx, host, execution } = frame;
  const { name } = placed(frame, was.name);
  if (host.isChanged(execution.runId)) ctx.removed(name, was.kind);
  else if (was.kind === "step") await runStep(frame, was);
  else await ctx.sleep(was.ms, { name });
  return null;
}
