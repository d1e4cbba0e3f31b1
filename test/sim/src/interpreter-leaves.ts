import type { ChildHandle, MemoryTx, RollbackInfo, StepInfo, StepOptions } from "pawl";
import { type Frame, placed } from "./interpreter-frame.ts";
import {
  type ChildNode,
  type ProgramNode,
  type SelectNode,
  type StepNode,
  type TransactionNode,
  UNFINISHED,
} from "./program.ts";

export async function runStep(frame: Frame, node: StepNode): Promise<unknown> {
  const { ctx, host, execution } = frame;
  const { name, location } = placed(frame, node.name);
  const given = execution.given.length;
  const body = (info: StepInfo): unknown => host.body(execution, node, location, info, given);
  const options = {
    retry: { maxAttempts: node.maxAttempts, initialMs: 200, factor: 2, maxMs: 1000, jitter: 0.1 },
    ...(node.timeoutMs === null ? {} : { timeout: node.timeoutMs }),
    retryOnTimeout: node.retryOnTimeout,
    ephemeral: node.ephemeral,
    ...(node.rollback === null ? {} : { rollback: rollbackOf(frame, node, location) }),
  };
  try {
    if (!node.asResult) return await ctx.step(name, body, options);
    const result = await ctx.tryStep(name, body, options);
    return result.ok ? result.value : { failed: result.failure.kind };
  } finally {
    // Later effects do not wait for an ephemeral record.
    if (!node.ephemeral) execution.given.push(location);
  }
}

/** A rollback is executed like a step body, at its own location. */
function rollbackOf(
  { host, execution }: Frame,
  node: StepNode,
  location: string,
): NonNullable<StepOptions<unknown>["rollback"]> {
  const { failures, maxAttempts, poison = false } = node.rollback ?? { failures: 0, maxAttempts: 1 };
  const handler: StepNode = { ...node, failures, maxAttempts, poison, timeoutMs: null, slow: false, rollback: null };
  return {
    run: (value: unknown, info: RollbackInfo) => {
      host.undoes(execution, location, info.finished ? value : UNFINISHED);
      return host.body(execution, handler, `${location}/~rollback`, info, execution.given.length);
    },
    retry: { maxAttempts, initialMs: 200, factor: 2, maxMs: 1000, jitter: 0.1 },
    unfinished: node.rollback?.unfinished ?? false,
  };
}

export async function runTransaction(frame: Frame, node: TransactionNode): Promise<unknown> {
  const { ctx, host, execution } = frame;
  const { name, location } = placed(frame, node.name);
  const options = { retry: { maxAttempts: node.maxAttempts, initialMs: 200, factor: 2, maxMs: 1000, jitter: 0.1 } };
  try {
    return await ctx.transaction(
      name,
      (tx: MemoryTx, info) => host.transact(execution, node, { location, tx, attempt: info.attempt }),
      options,
    );
  } finally {
    execution.given.push(location);
  }
}

export async function receive(
  frame: Frame,
  node: Extract<ProgramNode, { kind: "listen" | "listenN" | "event" }>,
): Promise<unknown> {
  const { ctx, execution } = frame;
  const { name, location } = placed(frame, node.name);
  const options = { name, ...(node.timeoutMs === null ? {} : { timeout: node.timeoutMs }) };
  if (node.kind === "listenN") {
    const { messages } = await ctx.listenN(node.message, node.count, options);
    execution.given.push(location);
    return messages.map((each) => each.value);
  }
  const got =
    node.kind === "listen" ? await ctx.listen(node.message, options) : await ctx.awaitEvent(node.topic, options);
  execution.given.push(location);
  return "value" in got ? got.value : "timeout";
}

export async function runSelect(frame: Frame, node: SelectNode): Promise<unknown> {
  const { ctx, execution, workflowOf } = frame;
  const { name, location } = placed(frame, node.name);
  let child: ChildHandle<unknown> | null = null;
  if (node.program !== null) {
    child = await ctx.startChild(
      workflowOf(node.program),
      { p: node.program, g: 0 },
      {
        name: `${name}.c`,
        onParentClose: "cancel",
      },
    );
    execution.given.push(`${location}.c`);
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
    execution.given.push(location);
  }
}

export async function runChild(frame: Frame, node: ChildNode): Promise<unknown> {
  const { ctx, execution, workflowOf } = frame;
  const { name, location } = placed(frame, node.name);
  const options = { name, onParentClose: node.onClose };
  const handle = await ctx.startChild(workflowOf(node.program), { p: node.program, g: 0 }, options);
  execution.given.push(location);
  if (node.mode === "detached") return handle.runId;
  try {
    return await handle.result();
  } catch (error) {
    if (node.mode === "quiet") return "child failed";
    throw error;
  } finally {
    execution.given.push(`${location}/result`);
  }
}
