import type { AnyWorkflow, Workflow } from "../workflow/ctx.ts";
import { atEachCommit } from "./at-each-commit.ts";
import type { TestCluster } from "./test-cluster.ts";
import type { TestStore } from "./test-stores.ts";

/** Runs a workflow to its end with a crash at each of its commits, and looks at what came of it. */
export async function crashEverywhere(
  create: () => ReturnType<TestStore["create"]>,
  make: () => {
    readonly workflow: Workflow<unknown, unknown>;
    readonly ran: string[];
    readonly children?: readonly AnyWorkflow[];
  },
  look: (end: {
    readonly output: unknown;
    readonly ran: readonly string[];
    readonly journal: readonly string[];
    readonly cluster: TestCluster;
  }) => void | Promise<void>,
  during?: (cluster: TestCluster, runId: string) => Promise<void>,
): Promise<number> {
  return await atEachCommit(async (crashAt) => {
    const cluster = await create();
    const { workflow: made, ran, children = [] } = make();
    const workflows = [made, ...children];
    const client = await cluster.engine();
    const run = await client.start(made, undefined, { id: "r" });
    const doomed = await cluster.engine({ workflows, crashAt });
    await during?.(cluster, run.id);
    let replaced = false;
    const output = await cluster.finish(run, async () => {
      if (replaced || !cluster.crashed(doomed)) return;
      replaced = true;
      await cluster.engine({ workflows });
    });
    const journal = (await run.journal()).map((record) => record.location);
    await look({ output, ran, journal, cluster });
    return cluster.crashed(doomed);
  });
}
