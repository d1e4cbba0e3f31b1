import { describe, expect, onTestFinished, test } from "vitest";
import { documentOf, flows } from "../testing/document.ts";
import { ended, STORES, siteOf } from "../testing/site.ts";
import type { ProcessHistory } from "./process-history.ts";

const process = (inside: string, text: string): string =>
  documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(text)}`);

const statuses = ({ elements }: ProcessHistory): Record<string, string> =>
  Object.fromEntries(elements.map(({ element, status }) => [element, status]));

const GATES = '<parallelGateway id="g"/><parallelGateway id="j"/>';

describe.each(STORES)("histories of process runs, on the store '%s'", (_name, openStore) => {
  test("tokens of a parallel split are children of the split token, and a join merges them", async () => {
    const { open, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    const { bpmn } = await open({ handlers: { b: () => ({ done: true }) } });
    const inside = `${GATES}<userTask id="a"/><serviceTask id="b"/>`;
    await bpmn.deploy(process(inside, "s -> g\ng -> a\ng -> b\na -fa-> j\nb -fb-> j\nj -> e"));
    const run = await bpmn.start("p", { n: 1 });
    await world.settle();
    const open1 = await bpmn.history(run.id);
    expect(open1.tokens.map(({ id, parent, element, status }) => [id, parent, element, status])).toEqual([
      [1, null, "g", "split"],
      [2, 1, "a", "waiting"],
      [3, 1, "j", "waiting"],
    ]);
    expect(open1.arrivals).toMatchObject([{ scope: 0, element: "j", flow: "fb", token: 3 }]);
    expect(statuses(open1)).toEqual({
      s: "completed",
      e: "pending",
      g: "completed",
      j: "pending",
      a: "waiting",
      b: "completed",
    });
    await bpmn.completeTask(run.id, "a/task", { by: "ann" });
    expect(await ended(world, run)).toEqual({ n: 1, done: true, by: "ann" });
    const { tokens, nodes, arrivals, endedAt } = await bpmn.history(run.id);
    expect(
      tokens.map(({ id, parent, mergedFrom, element, status }) => [id, parent, mergedFrom, element, status]),
    ).toEqual([
      [1, null, [], "g", "split"],
      [2, 1, [], "j", "completed"],
      [3, 1, [], "j", "completed"],
      [4, null, [2, 3], "e", "completed"],
    ]);
    expect(tokens[1]?.history.map(({ element, status }) => [element, status])).toEqual([
      ["a", "completed"],
      ["j", "completed"],
    ]);
    expect(arrivals).toEqual([]);
    expect(endedAt).not.toBe(null);
    expect(nodes.every((node) => node.startedAt > 0 && node.endedAt !== null)).toBe(true);
    expect(nodes.find(({ element }) => element === "b")).toMatchObject({
      input: { n: 1 },
      output: { done: true },
      flows: ["fb"],
      status: "completed",
    });
  });

  test("an element that an operator skips is skipped, and so is one that an ended run did not reach", async () => {
    const { open, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    const { bpmn } = await open();
    const inside = '<exclusiveGateway id="x" default="no"/><userTask id="a"/><userTask id="b"/>';
    await bpmn.deploy(process(inside, "s -> a\na -> x\nx -[yes]-> b\nx -no-> e\nb -> e"));
    const run = await bpmn.start("p", { yes: false });
    await world.settle();
    const { currentNodes } = await bpmn.view(run.id);
    await bpmn.operate.skip(run.id, currentNodes[0]?.row ?? 0);
    await ended(world, run);
    expect(statuses(await bpmn.history(run.id))).toEqual({
      s: "completed",
      e: "completed",
      x: "completed",
      a: "skipped",
      b: "skipped",
    });
  });

  test("retries, errors and the last error of a handler are counted", async () => {
    const { open, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    let calls = 0;
    const weigh = () => {
      calls += 1;
      throw new Error(`no scale ${calls}`);
    };
    const { bpmn } = await open({ handlers: { weigh }, retry: { maxAttempts: 3, initialMs: 1, jitter: 0 } });
    await bpmn.deploy(process('<serviceTask id="weigh"/>', "s -> weigh\nweigh -> e"));
    const run = await bpmn.start("p");
    await world.advance(10_000);
    await world.settle();
    const history = await bpmn.history(run.id);
    expect(history).toMatchObject({ retriesCount: 2, errorCount: 3, lastError: { message: "no scale 3" } });
    expect(statuses(history)).toEqual({ s: "completed", weigh: "failed", e: "pending" });
    expect(history.tokens).toMatchObject([{ element: "weigh", status: "waiting" }]);
  });

  test("an interrupted activity is terminated, and its token continues at the boundary event", async () => {
    const { open, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    const { bpmn } = await open();
    const inside =
      '<userTask id="a"/><boundaryEvent id="late" attachedToRef="a"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>';
    await bpmn.deploy(process(inside, "s -> a\na -> e\nlate -> e"));
    const run = await bpmn.start("p");
    await world.settle();
    const [subscription] = (await bpmn.view(run.id)).subscriptions;
    expect(subscription).toMatchObject({ element: "late", kind: "timer", isInterrupting: true, name: null });
    const { startedAt } = await bpmn.history(run.id);
    expect(subscription?.dueAt).toBe(startedAt + 3_600_000);
    await world.advance(3_600_000);
    await ended(world, run);
    const { tokens, nodes } = await bpmn.history(run.id);
    expect(nodes.map(({ element, status }) => [element, status])).toEqual([
      ["s", "completed"],
      ["a", "terminated"],
      ["late", "completed"],
      ["e", "completed"],
    ]);
    expect(tokens.map(({ status, history }) => [status, history.map(({ element }) => element)])).toEqual([
      ["completed", ["s", "a", "late", "e"]],
    ]);
  });

  test("a view and a history at an earlier record show the run as it was", async () => {
    const { open, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    const { bpmn } = await open();
    await bpmn.deploy(process('<userTask id="a"/><userTask id="b"/>', "s -> a\na -> b\nb -> e"));
    const run = await bpmn.start("p", { n: 1 });
    await world.settle();
    await bpmn.completeTask(run.id, "a/task", { n: 2 });
    await world.settle();
    const now = await bpmn.view(run.id);
    await bpmn.completeTask(run.id, "b/task", { n: 3 });
    await ended(world, run);
    expect(await bpmn.view(run.id, { at: now.seq })).toEqual({ ...now, status: "running" });
    expect(await bpmn.view(run.id, { at: 0 })).toMatchObject({
      variables: { n: 1 },
      tasks: [{ element: "a" }],
      seq: 0,
    });
    expect(statuses(await bpmn.history(run.id, { at: now.seq }))).toMatchObject({
      a: "completed",
      b: "waiting",
      e: "pending",
    });
    expect((await bpmn.view(run.id)).status).toBe("completed");
    await expect(bpmn.view(run.id, { at: 99 })).rejects.toMatchObject({ code: "RECORD_NOT_FOUND" });
    await expect(bpmn.history(run.id, { at: -1 })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  test("instances of a multi-instance activity are shown each with its index, below the activity", async () => {
    const { open, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    const { bpmn } = await open({ handlers: { each: ({ variables }) => ({ got: variables.item }) } });
    const inside =
      '<serviceTask id="each"><multiInstanceLoopCharacteristics pawl:collection="items" pawl:elementVariable="item"/></serviceTask>';
    await bpmn.deploy(process(inside, "s -> each\neach -> e"));
    const run = await bpmn.start("p", { items: ["x", "y"] });
    await ended(world, run);
    const { nodes, tokens } = await bpmn.history(run.id);
    const body = nodes.find(({ element, instance }) => element === "each" && instance === null);
    const instances = nodes.filter(({ instance }) => instance !== null);
    expect(instances.map(({ instance, scope, status, input }) => [instance, scope, status, input?.item])).toEqual([
      [0, body?.row, "completed", "x"],
      [1, body?.row, "completed", "y"],
    ]);
    expect(tokens.map(({ parent, status }) => [parent, status])).toEqual([
      [null, "completed"],
      [1, "completed"],
      [1, "completed"],
    ]);
  });
});
