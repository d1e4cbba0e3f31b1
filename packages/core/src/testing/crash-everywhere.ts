import type { AnyWorkflow, Workflow } from "../workflow/ctx.ts";
import { atEachCommit } from "./at-each-commit.ts";
import type { Stage } from "./stage.ts";
import type { StageKind } from "./stages.ts";

/** Runs a workflow to its end with a crash at each of its commits, and looks at what came of it. */
export async function crashEverywhere(
  create: () => ReturnType<StageKind["create"]>,
  make: () => {
    readonly workflow: Workflow<unknown, unknown>;
    readonly ran: string[];
    readonly children?: readonly AnyWorkflow[];
  },
  look: (end: {
    readonly output: unknown;
    readonly ran: readonly string[];
    readonly journal: readonly string[];
    readonly stage: Stage;
  }) => void | Promise<void>,
  during?: (stage: Stage, runId: string) => Promise<void>,
): Promise<number> {
  return await atEachCommit(async (crashAt) => {
    const stage = await create();
    const { workflow: made, ran, children = [] } = make();
    const workflows = [made, ...children];
    const client = await stage.engine();
    const run = await client.start(made, undefined, { id: "r" });
    const doomed = await stage.engine({ workflows, crashAt });
    await during?.(stage, run.id);
    let replaced = false;
    const output = await stage.finish(run, async () => {
      if (replaced || !stage.crashed(doomed)) return;
      replaced = true;
      await stage.engine({ workflows });
    });
    const journal = (await run.journal()).map((record) => record.location);
    await look({ output, ran, journal, stage });
    return stage.crashed(doomed);
  });
}
