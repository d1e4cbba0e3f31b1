import { expectTypeOf } from "vitest";
import { message, workflow } from "../index.ts";
import {
  type AlarmRow,
  type HostedResult,
  hostedRun,
  type KvDriver,
  type KvEntry,
  memoryDriver,
  memoryNamespaces,
  type Namespaces,
  type RunningWorkflow,
  runWorkflow,
  sqliteNamespaces,
} from "./index.ts";

/** Types that the compiler must infer or reject for hosts. Checked by `npm run check`; nothing here is executed. */

const approve = message<{ by: string }>("approve");
const order = workflow("order", async (_, input: { id: string }) => ({ total: input.id.length }));

export async function hosts(): Promise<void> {
  const driver = memoryDriver();
  expectTypeOf(driver).toExtend<KvDriver>();
  expectTypeOf(driver.entries()).toEqualTypeOf<readonly KvEntry[]>();
  const run = runWorkflow("r", order, { id: "a" }, driver, { mode: "live", workflows: [order] });
  expectTypeOf(run).toEqualTypeOf<RunningWorkflow<{ total: number }>>();
  const result = await run.result;
  expectTypeOf(result).toEqualTypeOf<HostedResult<{ total: number }>>();
  expectTypeOf(result.sleepUntil).toEqualTypeOf<number | null>();
  await run.message(approve, { by: "ann" });
  await run.evict({ drainMs: 0 });
  expectTypeOf(await hostedRun<number>("r", driver).getOutput()).toEqualTypeOf<number | undefined>();
  const spaces: Namespaces = memoryNamespaces();
  expectTypeOf(await spaces.alarms()).toEqualTypeOf<readonly AlarmRow[]>();
  // @ts-expect-error The workflow's input.
  runWorkflow("r", order, { id: 1 }, driver);
  // @ts-expect-error There are two modes.
  runWorkflow("r", order, { id: "a" }, driver, { mode: "fast" });
  // @ts-expect-error The store is the driver's.
  runWorkflow("r", order, { id: "a" }, driver, { store: driver });
  // @ts-expect-error The message's value.
  await run.message(approve, { by: 1 });
  // @ts-expect-error A driver is eight methods.
  runWorkflow("r", order, { id: "a" }, { get: async () => null });
  // @ts-expect-error A connection prepares statements.
  sqliteNamespaces({ exec: () => undefined });
}
