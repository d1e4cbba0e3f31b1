import type { AnyWorkflow, Workflow } from "../workflow/ctx.ts";
import { atEachCommit } from "./at-each-commit.ts";
import type { TestCluster } from "./test-cluster.ts";
import type { TestStore } from "./test-stores.ts";

/** Executes a workflow with a crash at each of its commits, and calls `check` at the end of each execution. */
export async function crashEverywhere(
  create: () => ReturnType<TestStore["create"]>,
  createWorkflow: () => {
    readonly workflow: Workflow<unknown, unknown>;
    readonly ran: string[];
    readonly children?: readonly AnyWorkflow[];
  },
  check: (end: {
    readonly output: unknown;
    readonly ran: readonly string[];
    readonly journal: readonly string[];
    readonly cluster: TestCluster;
  }) => void | Promise<void>,
  during?: (cluster: TestCluster, runId: string) => Promise<void>,
): Promise<number> {
  return await atEachCommit(async (crashAt) => {
    const cluster = await create();
    const { workflow, ran, children = [] } = createWorkflow();
    const workflows = [workflow, ...children];
    const client = await cluster.engine();
    const run = await client.start(workflow, undefined, { id: "r" });
    const crashing = await cluster.engine({ workflows, crashAt });
    await during?.(cluster, run.id);
    let replaced = false;
    const output = await cluster.finish(run, async () => {
      if (replaced || !cluster.crashed(crashing)) return;
      replaced = true;
      await cluster.engine({ workflows });
    });
    const journal = (await run.journal()).map((record) => record.location);
    await check({ output, ran, journal, cluster });
    return cluster.crashed(crashing);
  });
}
