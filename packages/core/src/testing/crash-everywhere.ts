import type { Workflow } from "../workflow/ctx.ts";
import { atEachCommit } from "./at-each-commit.ts";
import type { Stage } from "./stage.ts";
import type { StageKind } from "./stages.ts";

/** Runs a workflow to its end with a crash at each of its commits, and looks at what came of it. */
export async function crashEverywhere(
  create: () => ReturnType<StageKind["create"]>,
  make: () => { readonly workflow: Workflow<unknown, unknown>; readonly ran: string[] },
  look: (end: {
    readonly output: unknown;
    readonly ran: readonly string[];
    readonly journal: readonly string[];
  }) => void,
  during?: (stage: Stage, runId: string) => Promise<void>,
): Promise<number> {
  return await atEachCommit(async (crashAt) => {
    const stage = await create();
    const { workflow: made, ran } = make();
    const client = await stage.engine();
    const run = await client.start(made, undefined, { id: "r" });
    const doomed = await stage.engine({ workflows: [made], crashAt });
    await during?.(stage, run.id);
    let replaced = false;
    const output = await stage.finish(run, async () => {
      if (replaced || !stage.crashed(doomed)) return;
      replaced = true;
      await stage.engine({ workflows: [made] });
    });
    look({ output, ran, journal: (await run.journal()).map((record) => record.location) });
    return stage.crashed(doomed);
  });
}
