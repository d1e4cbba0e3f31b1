import { createClient, createEngine, memoryStore, type Page, type RunHandle } from "pawl";
import { expectTypeOf } from "vitest";
import {
  BpmnError,
  createBpmn,
  type Deployed,
  type Deployment,
  type HumanTask,
  humanTasks,
  type Job,
  type ProcessView,
  type RunMigrationReport,
  type TaskAct,
  type Variables,
} from "./index.ts";

/** Types that the compiler must infer and reject in `@pawl/bpmn`. `npm run check` compiles this file; nothing here is executed. */

export async function processes(): Promise<void> {
  const engine = await createEngine({ store: memoryStore() });
  const bpmn = await createBpmn({
    engine,
    handlers: {
      charge: async (job) => {
        expectTypeOf(job).toEqualTypeOf<Job>();
        expectTypeOf(job.signal).toEqualTypeOf<AbortSignal>();
        if (job.attempt > 3) throw new BpmnError("DECLINED", "the card was declined");
        return { charged: true };
      },
    },
  });
  expectTypeOf(await bpmn.deploy("<definitions/>", { state: "draft" })).toEqualTypeOf<readonly Deployed[]>();
  // @ts-expect-error A version is deployed as a draft or published.
  await bpmn.deploy("<definitions/>", { state: "archived" });
  expectTypeOf(await bpmn.publishVersion("order", 2, { by: "ann" })).toEqualTypeOf<Deployment>();
  const run = await bpmn.start("order", { cents: 100 }, { id: "order-1", businessKey: "A-7" });
  expectTypeOf(run).toEqualTypeOf<RunHandle<Variables>>();
  expectTypeOf(await run.result()).toEqualTypeOf<Variables>();
  expectTypeOf(await bpmn.view("order-1")).toEqualTypeOf<ProcessView>();
  const report = await bpmn.migrate(["order-1"], 2, { map: { approve: "review" }, dryRun: true });
  expectTypeOf(report).toEqualTypeOf<RunMigrationReport>();
}

export async function people(): Promise<void> {
  const client = await createClient({ store: memoryStore() });
  const tasks = humanTasks({ engine: client });
  expectTypeOf(await tasks.list({ candidateGroup: "managers", due: "overdue" })).toEqualTypeOf<Page<HumanTask>>();
  expectTypeOf(await tasks.claim("task", "ann", { groups: ["managers"] })).toEqualTypeOf<HumanTask>();
  expectTypeOf(await tasks.history("task")).toEqualTypeOf<readonly TaskAct[]>();
  await tasks.complete("task", { approved: true }, { by: "ann" });
  // @ts-expect-error A claim needs a user.
  await tasks.claim("task");
  // @ts-expect-error A state with this name does not exist.
  await tasks.list({ state: "waiting" });
}
