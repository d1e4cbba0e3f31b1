import { expectTypeOf } from "vitest";
import {
  type EmitOutcome,
  type Engine,
  endExported,
  exportRun,
  type ImportReport,
  importRun,
  memoryStore,
  message,
  type RunExport,
  type RunHandle,
  type SendOutcome,
  topic,
  workflow,
} from "../index.ts";
import {
  type Effects,
  type ExploreError,
  type ExploreReport,
  effectLog,
  explore,
  type Finding,
  type ReplayedJournal,
  replayJournal,
  type Schedule,
  testEngine,
} from "./index.ts";

/** Types that the compiler must infer and reject in `pawl/testing`. `npm run check` compiles this file; nothing here is executed. */

const approve = message<{ by: string }>("approve");
const price = topic<number>("price");
const order = workflow("order", async (_, input: { id: string }) => ({ total: input.id.length }));
const other = workflow("other", async (ctx) => ctx.now());

export async function engines(): Promise<void> {
  const test = await testEngine({ workflows: [order, other], steps: { charge: ({ attempt }) => attempt }, seed: 7 });
  expectTypeOf(test.engine).toEqualTypeOf<Engine>();
  const run = await test.start(order, { id: "a" }, { id: "r" });
  expectTypeOf(run).toEqualTypeOf<RunHandle<{ total: number }>>();
  expectTypeOf(await test.send("r", approve, { by: "ann" })).toEqualTypeOf<SendOutcome>();
  expectTypeOf(await test.emit(price, 1)).toEqualTypeOf<EmitOutcome>();
  expectTypeOf(test.run<string>("r")).toEqualTypeOf<RunHandle<string>>();
  expectTypeOf(test.now()).toEqualTypeOf<number>();
  await test.advance("3 days");
  // @ts-expect-error The input has another type.
  await test.start(order, { id: 1 });
  // @ts-expect-error The value of the message has another type.
  await test.send("r", approve, { by: 1 });
  // @ts-expect-error A test engine creates its store.
  await testEngine({ workflows: [order], store: memoryStore() });
  // @ts-expect-error `workflows` is required.
  await testEngine({});
}

export async function explorations(): Promise<void> {
  const effects = effectLog();
  expectTypeOf(effects).toExtend<Effects>();
  const report = await explore(order, { id: "a" }, { effects, seed: 2, schedules: 10, compare: ({ total }) => total });
  expectTypeOf(report).toEqualTypeOf<ExploreReport>();
  expectTypeOf(report.findings).toEqualTypeOf<readonly Finding[]>();
  const schedule: Schedule = { scenario: { kind: "normal" }, faults: [{ kind: "crash", call: 3, applied: true }] };
  await explore(order, { id: "a" }, { schedule, sends: [{ message: approve, value: { by: "ann" }, after: "1 day" }] });
  await explore(other, undefined, { sends: [{ event: price, value: 1 }], workflows: [order], mayFail: ["charge"] });
  expectTypeOf<ExploreError["code"]>().toEqualTypeOf<"WORKFLOW_FAULTY">();
  // @ts-expect-error The input has another type.
  await explore(order, { id: 1 });
  // @ts-expect-error `compare` receives the output of the workflow.
  await explore(order, { id: "a" }, { compare: ({ sum }) => sum });
  // @ts-expect-error A fault of this kind does not exist.
  await explore(order, { id: "a" }, { schedule: { scenario: { kind: "normal" }, faults: [{ kind: "fire" }] } });
}

export async function moves(): Promise<void> {
  const store = memoryStore();
  const exported = await exportRun(store, "r", { keepOpen: true });
  expectTypeOf(exported).toEqualTypeOf<RunExport>();
  expectTypeOf(await importRun(store, exported)).toEqualTypeOf<ImportReport>();
  expectTypeOf(await importRun(store, JSON.stringify(exported))).toEqualTypeOf<ImportReport>();
  expectTypeOf(await endExported(store, exported)).toEqualTypeOf<readonly string[]>();
  expectTypeOf(await replayJournal(order, exported)).toEqualTypeOf<ReplayedJournal>();
  // @ts-expect-error The id of a run is a string.
  await exportRun(store, 7);
  // @ts-expect-error An export is not a list of records.
  await importRun(store, []);
}
