import type { Ctx, Workflow } from "pawl";
import { type Frame, type InterpreterHost, messageOf, placed } from "./interpreter-frame.ts";
import { receive, runChild, runSelect, runStep, runTransaction } from "./interpreter-leaves.ts";
import { runCtxLoop, runCtxRace, runCtxTry, runJoin, runRemoved, runVersion } from "./interpreter-structure.ts";
import { GIVEN_UP, generationInStart, type ProgramInput, type ProgramNode, ROOT } from "./program.ts";

export const WORKFLOW_NAME = "program";

/** The code workflow, which interprets a program. `workflowOf` returns the workflow that executes a child's program. */
export function interpreterWorkflow(
  host: InterpreterHost,
  workflowOf: (program: number) => Workflow<ProgramInput, unknown>,
  version: 1 | 2,
): Workflow<ProgramInput, unknown> {
  return host.pawl.workflow(WORKFLOW_NAME, { version }, async (ctx: Ctx, input: ProgramInput) => {
    const program = host.programs[input.p];
    if (program === undefined) throw new Error(`program ${input.p} not found`);
    const execution = host.begin(ctx.runId, input.g, version);
    const frame: Frame = { ctx, at: ROOT, host, execution, workflowOf, extras: [], list: runList };
    const values = await runList(frame, program.nodes);
    if (host.bugs.includes(input.p) && !host.isChanged(ctx.runId)) throw new TypeError("a mistake in the first code");
    if (generationInStart(input) < program.generations) await ctx.continueAs({ p: input.p, g: input.g + 1 });
    return { values, extras: frame.extras };
  });
}

async function runList(frame: Frame, nodes: readonly ProgramNode[]): Promise<unknown[]> {
  const values: unknown[] = [];
  for (const node of nodes) values.push(await runNode(frame, node));
  return values;
}

async function runNode(frame: Frame, node: ProgramNode): Promise<unknown> {
  switch (node.kind) {
    case "step":
      return await runStep(frame, node);
    case "transaction":
      return await runTransaction(frame, node);
    case "sleep":
      return await runSleep(frame, node);
    case "listen":
    case "event":
    case "listenN":
      return await receive(frame, node);
    case "select":
      return await runSelect(frame, node);
    case "child":
      return await runChild(frame, node);
    case "all":
    case "race":
    case "settled":
      return await runBranches(frame, node);
    case "loop":
      return await runLoop(frame, node.body, node.times);
    case "attempt":
      try {
        return await runList(frame, node.body);
      } catch (error) {
        return { caught: messageOf(error), rescued: await runList(frame, node.rescue) };
      }
    case "ctxJoin":
      return await runJoin(frame, node);
    case "ctxRace":
      return await runCtxRace(frame, node);
    case "ctxLoop":
      return await runCtxLoop(frame, node);
    case "ctxTry":
      return await runCtxTry(frame, node);
    case "version":
      return await runVersion(frame, node);
    case "removed":
      return await runRemoved(frame, node);
    case "send":
    case "emit":
      await runPost(frame, node);
      return null;
    case "checkpoint":
      await frame.ctx.rollbackCheckpoint(placed(frame, node.name).name);
      return null;
    case "resource":
      await runResource(frame, node.name);
      return null;
    case "giveUp":
      throw new frame.host.pawl.RollbackError(GIVEN_UP);
    case "pure":
      frame.extras.push(frame.ctx.now(), frame.ctx.random(), frame.ctx.uuid());
      frame.ctx.log("pure");
      return null;
  }
}

async function runResource(frame: Frame, node: string): Promise<void> {
  const { name } = placed(frame, node);
  frame.execution.resources.push(await frame.ctx.resource(name, frame.host.resource(frame.execution, name)));
}

async function runSleep(frame: Frame, node: Extract<ProgramNode, { kind: "sleep" }>): Promise<null> {
  const { name, location } = placed(frame, node.name);
  await frame.ctx.sleep(node.ms, { name });
  frame.execution.given.push(location);
  return null;
}

async function runBranches(
  frame: Frame,
  { kind, branches }: Extract<ProgramNode, { kind: "all" | "race" | "settled" }>,
): Promise<unknown> {
  const begun = branches.map((branch) => runList(frame, branch));
  if (kind === "all") return await Promise.all(begun);
  if (kind === "race") return await Promise.race(begun);
  const settled = await Promise.allSettled(begun);
  return settled.map((each) => (each.status === "fulfilled" ? each.value : messageOf(each.reason)));
}

async function runLoop(frame: Frame, body: readonly ProgramNode[], times: number): Promise<unknown[]> {
  const values: unknown[] = [];
  for (let index = 0; index < times; index += 1) {
    const at = { path: frame.at.path, suffix: `${frame.at.suffix}.${index}` };
    values.push(await runList({ ...frame, at }, body));
  }
  return values;
}

async function runPost({ ctx, host }: Frame, node: Extract<ProgramNode, { kind: "send" | "emit" }>): Promise<void> {
  if (node.kind === "send") {
    const to = host.runIds[node.target] ?? "";
    await ctx.send(to, node.message, "from a run", { onTargetTerminated: node.policy });
  } else {
    await ctx.emit(node.topic, "from a run", { deliver: node.deliver, consume: node.consume });
  }
}
