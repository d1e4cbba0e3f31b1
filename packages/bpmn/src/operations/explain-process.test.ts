import { describe, expect, onTestFinished, test } from "vitest";
import { documentOf, flows } from "../testing/document.ts";
import { ended, STORES, siteOf } from "../testing/site.ts";

const process = (inside: string, text: string): string =>
  documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(text)}`);

describe.each(STORES)("explanations of process runs, on the store '%s'", (_name, openStore) => {
  test("a run that waits at a join shows its tokens, with arrived and missing flows", async () => {
    const { open, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    const { bpmn } = await open();
    const inside =
      '<exclusiveGateway id="x" default="away"/><parallelGateway id="j" name="Both"/><userTask id="a"/><userTask id="b"/>';
    await bpmn.deploy(process(inside, "s -> x\nx -away-> a\nx -[both]-> b\na -fa-> j\nb -fb-> j\nj -> e"));
    const run = await bpmn.start("p", { both: false });
    await world.settle();
    expect((await bpmn.view(run.id)).joins).toEqual([]);
    await bpmn.completeTask(run.id, "a/task");
    await world.settle();
    const { currentNodes, joins } = await bpmn.view(run.id);
    expect(currentNodes).toEqual([]);
    const join = { scope: 0, element: "j", name: "Both", type: "parallelGateway", tokens: 1, tokensNeeded: null };
    expect(joins).toEqual([
      { ...join, arrived: [{ flow: "fa", from: "a", tokens: 1 }], missing: [{ flow: "fb", from: "b" }] },
    ]);
    const { sentence } = await bpmn.explain(run.id);
    expect(sentence).toMatch(/waiting for an operator action; join j has a token of fa from a, and none of fb from b$/);
  });

  test("a run with an incident is explained with the element and the message", async () => {
    const { open, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    let isUp = false;
    const weigh = () => (isUp ? {} : Promise.reject(new Error("the scale is down")));
    const { bpmn, engine } = await open({ handlers: { weigh }, retry: { maxAttempts: 1 } });
    await bpmn.deploy(process('<serviceTask id="weigh"/>', "s -> weigh\nweigh -> e"));
    const run = await bpmn.start("p");
    await world.settle();
    const explained = await bpmn.explain(run.id);
    expect(explained.incidents).toMatchObject([{ element: "weigh", kind: "failed", message: "the scale is down" }]);
    expect(explained.sentence).toMatch(
      /waiting for an operator action; incident at weigh \(failed\): the scale is down$/,
    );
    expect((await engine.explain(run.id)).sentence).not.toContain("bpmn act");
    isUp = true;
    await bpmn.operate.retryIncidents([run.id]);
    expect(await ended(world, run)).toEqual({});
    expect((await bpmn.explain(run.id)).sentence).toMatch(/ completed/);
  });

  test("an activity that needs several tokens is shown with those that it has", async () => {
    const { open, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    const { bpmn } = await open();
    await bpmn.deploy(process('<userTask id="a" startQuantity="3"/>', "s -> a\na -> e"));
    const run = await bpmn.start("p");
    await world.settle();
    expect((await bpmn.view(run.id)).joins).toMatchObject([
      { element: "a", tokens: 1, tokensNeeded: 3, arrived: [], missing: [] },
    ]);
    expect((await bpmn.explain(run.id)).sentence).toContain("a has 1 of the 3 tokens that it needs to start");
  });
});
