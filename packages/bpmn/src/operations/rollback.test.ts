import { memoryStore } from "pawl";
import { expect, onTestFinished, test } from "vitest";
import { documentOf, flows } from "../testing/document.ts";
import { ended, type Options, STORES, siteOf, TAKE_OVER } from "../testing/site.ts";

async function site(options: Options = {}) {
  const parts = await siteOf(memoryStore(), onTestFinished);
  return { ...parts, ...(await parts.open(options)) };
}

const model = (inside: string, text: string): string =>
  documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(text)}`);

const THREE = model('<serviceTask id="a"/><serviceTask id="b"/><userTask id="u"/>', "s -> a\na -> b\nb -> u\nu -> e");

function counting() {
  const calls: string[] = [];
  const count: NonNullable<Options["handlers"]>[string] = ({ element }) => {
    calls.push(element.id);
    return { [element.id]: calls.length };
  };
  return { calls, handlers: { a: count, b: count } };
}

test.each(STORES)(
  "a run returns to a named snapshot and continues from there, on the store '%s'",
  async (_name, openStore) => {
    const { open, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    const { bpmn } = await open();
    await bpmn.deploy(model('<userTask id="u"/><userTask id="v"/>', "s -> u\nu -> v\nv -> e"));
    const run = await bpmn.start("p", { n: 1 });
    await world.settle();
    await bpmn.operate.snapshot(run.id, "before v", { by: "ann", why: "audit" });
    await world.settle();
    await bpmn.completeTask(run.id, "u/task", { n: 2 });
    await world.settle();
    expect((await bpmn.operate.snapshots(run.id)).map(({ kind, name, by, why }) => [kind, name, by, why])).toEqual([
      ["named", "before v", "ann", "audit"],
    ]);
    await bpmn.operate.rollback(run.id, { snapshot: "before v" }, { by: "bob" });
    await world.advance(TAKE_OVER);
    const { currentNodes, variables } = await bpmn.view(run.id);
    expect([currentNodes.map(({ element }) => element), variables]).toEqual([["u"], { n: 1 }]);
    await bpmn.completeTask(run.id, "u/task", { n: 3 });
    await world.settle();
    await bpmn.operate.rollback(run.id, { snapshot: "before v" });
    await world.advance(TAKE_OVER);
    expect((await bpmn.view(run.id)).variables).toEqual({ n: 1 });
  },
);

test("a rollback to an element executes it again, and nothing that came before it", async () => {
  const { calls, handlers } = counting();
  const { bpmn, world } = await site({ handlers });
  await bpmn.deploy(THREE);
  const run = await bpmn.start("p");
  await world.settle();
  await bpmn.operate.rollback(run.id, { element: "b" });
  await world.advance(TAKE_OVER);
  expect(calls).toEqual(["a", "b", "b"]);
  expect((await bpmn.view(run.id)).currentNodes.map(({ element }) => element)).toEqual(["u"]);
  await bpmn.operate.rollback(run.id, { element: "s" });
  await world.advance(TAKE_OVER);
  expect(calls).toEqual(["a", "b", "b", "a", "b"]);
});

test("a rollback of an ended run to a task opens the task anew, without its former completion", async () => {
  const { handlers } = counting();
  const { bpmn, world } = await site({ handlers });
  await bpmn.deploy(THREE);
  const run = await bpmn.start("p", {}, { id: "r" });
  await world.settle();
  await bpmn.tasks.complete("r u/task", { x: 1 });
  await ended(world, run);
  expect(await bpmn.operate.rollback("r", { element: "u" })).toMatchObject({ messages: 0 });
  await world.advance(TAKE_OVER);
  expect((await bpmn.tasks.list({ runId: "r" })).items.map(({ id }) => id)).toEqual(["r u/task ~1"]);
  expect((await bpmn.view("r")).variables).toEqual({ a: 1, b: 2 });
});

test("a message that was received after the place of a rollback is received again, unless it is dropped", async () => {
  const { bpmn, world } = await site();
  const message = '<messageEventDefinition messageRef="M"/>';
  const inside = `<userTask id="u"/><intermediateCatchEvent id="c">${message}</intermediateCatchEvent><userTask id="v"/>`;
  await bpmn.deploy(
    documentOf(`<startEvent id="s"/>${inside}${flows("s -> u\nu -> c\nc -> v")}`, '<message id="M" name="paid"/>'),
  );
  const run = await bpmn.start("p");
  await world.settle();
  await bpmn.completeTask(run.id, "u/task");
  await bpmn.publish("paid", { variables: { cents: 5 } });
  await world.settle();
  await bpmn.operate.rollback(run.id, { element: "c" });
  await world.advance(TAKE_OVER);
  expect((await bpmn.view(run.id)).variables).toEqual({ cents: 5 });
  await bpmn.operate.rollback(run.id, { element: "u" }, { messages: "drop" });
  await world.advance(TAKE_OVER);
  await bpmn.completeTask(run.id, "u/task");
  await world.settle();
  const { currentNodes, variables } = await bpmn.view(run.id);
  expect([currentNodes.map(({ element }) => element), variables]).toEqual([["c"], {}]);
});

test("a join is a point to return to, and with snapshotAtJoins a run resumes from there without earlier records", async () => {
  const evaluated: string[] = [];
  const { calls, handlers } = counting();
  const options: Options = { handlers, snapshotAtJoins: true };
  const { bpmn, open, process, world } = await site(options);
  const inside =
    '<parallelGateway id="g"/><serviceTask id="a"/><serviceTask id="b"/><parallelGateway id="j"/><userTask id="u"/>';
  await bpmn.deploy(model(inside, "s -> g\ng -> a\ng -> b\na -> j\nb -> j\nj -[done = null]-> u\nu -> e"));
  const run = await bpmn.start("p");
  await world.settle();
  const [join] = await bpmn.operate.snapshots(run.id);
  expect(join).toMatchObject({ kind: "join", name: "j", by: null });
  expect((await bpmn.history(run.id)).nodes.find(({ row }) => row === join?.row)?.element).toBe("j");
  await bpmn.completeTask(run.id, "u/task");
  await ended(world, run);
  await bpmn.operate.rollback(run.id, { element: "j" });
  await world.advance(TAKE_OVER);
  expect(calls).toEqual(["a", "b"]);
  expect((await bpmn.view(run.id)).currentNodes.map(({ element }) => element)).toEqual(["u"]);
  process.crash();
  const evaluate: NonNullable<Options["evaluate"]> = ({ text }) => {
    evaluated.push(text);
    return true;
  };
  const other = await open({ ...options, evaluate });
  await world.advance(TAKE_OVER);
  await other.engine.run(run.id).send("bpmn task u/task", { variables: {} });
  await ended(world, other.engine.run(run.id));
  expect(evaluated).toEqual([]);
});

test("a rollback by row returns to one passing of an element in a circle", async () => {
  const calls: number[] = [];
  const a: NonNullable<Options["handlers"]>[string] = ({ variables }) => {
    calls.push(Number(variables.n));
    return { n: Number(variables.n) + 1 };
  };
  const { bpmn, world } = await site({ handlers: { a } });
  const inside = '<serviceTask id="a"/><exclusiveGateway id="g" default="on"/><userTask id="u"/>';
  await bpmn.deploy(model(inside, "s -> a\na -> g\ng -[n < 3]-> a\ng -on-> u\nu -> e"));
  const run = await bpmn.start("p", { n: 0 });
  await world.settle();
  const passed = (await bpmn.history(run.id)).nodes.filter(({ element }) => element === "a");
  await bpmn.operate.rollback(run.id, { row: passed[1]?.row ?? 0 });
  await world.advance(TAKE_OVER);
  expect(calls).toEqual([0, 1, 2, 1, 2]);
});

test("a place that the run was never at, and a wrong target, are rejected and change nothing", async () => {
  const { handlers } = counting();
  const { bpmn, world } = await site({ handlers });
  await bpmn.deploy(THREE);
  const run = await bpmn.start("p");
  await world.settle();
  const rollback = (to: object, options?: object) => bpmn.operate.rollback(run.id, to as never, options as never);
  await expect(rollback({ element: "e" })).rejects.toThrow(
    "has no element e to roll back to; it has passed: s, a, b, u",
  );
  await expect(rollback({ snapshot: "x" })).rejects.toThrow("has no snapshot x to roll back to; its snapshots: none");
  await expect(rollback({ row: 99 })).rejects.toMatchObject({ code: "PROCESS_STATE" });
  await expect(rollback({ element: "u" })).rejects.toThrow("has done nothing since then");
  for (const wrong of [{}, { element: "a", row: 2 }, { elment: "a" }, null])
    await expect(rollback(wrong as object)).rejects.toMatchObject({ code: "OPTION_INVALID" });
  await expect(rollback({ element: "a" }, { message: "drop" })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  await expect(bpmn.operate.snapshot(run.id, "")).rejects.toMatchObject({ code: "NAME_INVALID" });
  await expect(bpmn.operate.snapshot("nobody", "x")).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
  expect(await run.journal()).toHaveLength(2);
  await bpmn.completeTask(run.id, "u/task");
  await ended(world, run);
  await expect(bpmn.operate.snapshot(run.id, "late")).rejects.toMatchObject({ code: "RUN_ENDED" });
});
