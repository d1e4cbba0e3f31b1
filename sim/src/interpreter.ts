import type { ChildHandle, Ctx, StepInfo, Workflow } from "pawl";
import type { Pawl } from "./engine-under-test.ts";
import type { ChildNode, Program, ProgramInput, ProgramNode, SelectNode, StepNode } from "./program.ts";

/** One execution of a run's code in one process: from its start to its end, or to whatever cuts it off. */
export interface Line {
  readonly runId: string;
  readonly generation: number;
  /** Locations of commands whose completion the code has been given. */
  readonly given: string[];
}

/** What the interpreter asks of the world it runs in. */
export interface InterpreterHost {
  readonly programs: readonly Program[];
  /** The ids of the case's runs, by place. */
  readonly runIds: readonly string[];
  begin(runId: string, generation: number): Line;
  /** `given` is how many completions the code had been given when it asked for the step. */
  body(line: Line, node: StepNode, location: string, info: StepInfo, given: number): unknown;
}

interface Frame {
  readonly ctx: Ctx;
  readonly host: InterpreterHost;
  readonly line: Line;
  readonly workflowOf: (program: number) => Workflow<ProgramInput, unknown>;
  /** What replay must give again, and no model foretells: now, random, uuid. */
  readonly extras: unknown[];
}

export const WORKFLOW_NAME = "program";

/** The code workflow: a coroutine that walks a program. `workflowOf` says what a child's program is run by. */
export function interpreterWorkflow(
  pawl: Pawl,
  host: InterpreterHost,
  workflowOf: (program: number) => Workflow<ProgramInput, unknown>,
): Workflow<ProgramInput, unknown> {
  return pawl.workflow(WORKFLOW_NAME, async (ctx: Ctx, input: ProgramInput) => {
    const program = host.programs[input.p];
    if (program === undefined) throw new Error(`no program ${input.p}`);
    const frame: Frame = { ctx, host, line: host.begin(ctx.runId, input.g), workflowOf, extras: [] };
    const values = await runList(frame, program.nodes, "");
    if (input.g < program.generations) await ctx.continueAs({ p: input.p, g: input.g + 1 });
    return { values, extras: frame.extras };
  });
}

/** `round` is added to names: the numbers of the loops around. */
async function runList(frame: Frame, nodes: readonly ProgramNode[], round: string): Promise<unknown[]> {
  const values: unknown[] = [];
  for (const node of nodes) values.push(await runNode(frame, node, round));
  return values;
}

async function runNode(frame: Frame, node: ProgramNode, round: string): Promise<unknown> {
  const { ctx, line } = frame;
  switch (node.kind) {
    case "step":
      return await runStep(frame, node, node.name + round);
    case "sleep":
      await ctx.sleep(node.ms, { name: node.name + round });
      line.given.push(node.name + round);
      return null;
    case "listen":
    case "event":
    case "listenN":
      return await receive(frame, node, node.name + round);
    case "select":
      return await runSelect(frame, node, node.name + round);
    case "child":
      return await runChild(frame, node, node.name + round);
    case "all":
      return await Promise.all(node.branches.map((branch) => runList(frame, branch, round)));
    case "race":
      return await Promise.race(node.branches.map((branch) => runList(frame, branch, round)));
    case "settled":
      return (await Promise.allSettled(node.branches.map((branch) => runList(frame, branch, round)))).map((each) =>
        each.status === "fulfilled" ? each.value : messageOf(each.reason),
      );
    case "loop":
      return await runLoop(frame, node.body, node.times, round);
    case "attempt":
      try {
        return await runList(frame, node.body, round);
      } catch (error) {
        return { caught: messageOf(error), rescued: await runList(frame, node.rescue, round) };
      }
    case "send":
      await ctx.send(frame.host.runIds[node.target] ?? "", node.message, "from a run", {
        onTargetTerminated: node.policy,
      });
      return null;
    case "emit":
      await ctx.emit(node.topic, "from a run", { deliver: node.deliver, consume: node.consume });
      return null;
    case "pure":
      frame.extras.push(ctx.now(), ctx.random(), ctx.uuid());
      ctx.log("pure");
      return null;
  }
}

async function runLoop(frame: Frame, body: readonly ProgramNode[], times: number, round: string): Promise<unknown[]> {
  const values: unknown[] = [];
  for (let index = 0; index < times; index += 1) values.push(await runList(frame, body, `${round}.${index}`));
  return values;
}

async function runStep(frame: Frame, node: StepNode, location: string): Promise<unknown> {
  const { ctx, host, line } = frame;
  const given = line.given.length;
  const body = (info: StepInfo): unknown => host.body(line, node, location, info, given);
  const options = {
    retry: { maxAttempts: node.maxAttempts, initialMs: 200, factor: 2, maxMs: 1000, jitter: 0.1 },
    ...(node.timeoutMs === null ? {} : { timeout: node.timeoutMs }),
    retryOnTimeout: node.retryOnTimeout,
    ephemeral: node.ephemeral,
  };
  try {
    if (!node.asResult) return await ctx.step(location, body, options);
    const result = await ctx.tryStep(location, body, options);
    return result.ok ? result.value : { failed: result.failure.kind };
  } finally {
    // Nothing waits for an ephemeral record.
    if (!node.ephemeral) line.given.push(location);
  }
}

async function receive(
  { ctx, line }: Frame,
  node: Extract<ProgramNode, { kind: "listen" | "listenN" | "event" }>,
  name: string,
): Promise<unknown> {
  const options = { name, ...(node.timeoutMs === null ? {} : { timeout: node.timeoutMs }) };
  if (node.kind === "listenN") {
    const { messages } = await ctx.listenN(node.message, node.count, options);
    line.given.push(name);
    return messages.map((each) => each.value);
  }
  const got =
    node.kind === "listen" ? await ctx.listen(node.message, options) : await ctx.awaitEvent(node.topic, options);
  line.given.push(name);
  return "value" in got ? got.value : "timeout";
}

async function runSelect({ ctx, line, workflowOf }: Frame, node: SelectNode, name: string): Promise<unknown> {
  let child: ChildHandle<unknown> | null = null;
  if (node.program !== null) {
    child = await ctx.startChild(workflowOf(node.program), { p: node.program, g: 0 }, { name: `${name}.c` });
    line.given.push(`${name}.c`);
  }
  const arms = {
    ...(node.message === null ? {} : { m: { message: node.message } }),
    ...(node.topic === null ? {} : { t: { event: node.topic } }),
    ...(child === null ? {} : { c: { child } }),
    ...(node.afterMs === null ? {} : { w: { after: node.afterMs } }),
  };
  try {
    const { key, value } = await ctx.select(arms, { name });
    return { key, value: value ?? null };
  } finally {
    line.given.push(name);
  }
}

async function runChild({ ctx, line, workflowOf }: Frame, node: ChildNode, name: string): Promise<unknown> {
  const options = { name, onParentClose: node.onClose };
  const handle = await ctx.startChild(workflowOf(node.program), { p: node.program, g: 0 }, options);
  line.given.push(name);
  if (node.mode === "detached") return handle.runId;
  try {
    return await handle.result();
  } catch (error) {
    if (node.mode === "quiet") return "child failed";
    throw error;
  } finally {
    line.given.push(`${name}/result`);
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
