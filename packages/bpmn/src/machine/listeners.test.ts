import type { Store } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import { BpmnError, type Job } from "../index.ts";
import { documentOf, flows } from "../testing/document.ts";
import { ended, type Options, type Site, STORES, siteOf, TAKE_OVER } from "../testing/site.ts";

const site = (store: Store): Promise<Site> => siteOf(store, onTestFinished);

const camunda = (inside: string, text: string, beside = ""): string =>
  documentOf(`<startEvent id="s"/>${inside}${flows(text)}`, beside).replace(
    'xmlns:pawl="urn:pawl:bpmn"',
    'xmlns:camunda="http://camunda.org/schema/1.0/bpmn"',
  );
const extended = (inside: string): string => `<extensionElements>${inside}</extensionElements>`;
const listener = (event: string, handler = "note"): string =>
  `<camunda:executionListener event="${event}" class="${handler}"/>`;
const END = '<endEvent id="e"/>';

/** Handlers that note the element and event of their calls. */
function noting() {
  const notes: string[] = [];
  const note = ({ element, listener }: Job): void => void notes.push(`${element.id} ${listener ?? "work"}`);
  return { notes, handlers: { note, work: note } satisfies Options["handlers"] };
}

describe.each(STORES)("listeners, on the store '%s'", (_name, openStore) => {
  test("listeners are called before and after the work of a task, in the order of their events", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { notes, handlers } = noting();
    const { bpmn } = await open({ handlers });
    const xml = camunda(
      `${END}<serviceTask id="a" camunda:class="work">${extended(listener("end") + listener("start"))}</serviceTask>
       <userTask id="u">${extended(`${listener("end")}${listener("start")}<camunda:taskListener event="complete" class="note"/><camunda:taskListener event="create" class="note"/>`)}</userTask>`,
      "s -> a\na -> u\nu -> e",
    );
    expect((await bpmn.deploy(xml, { strict: true }))[0]).not.toHaveProperty("ignored");
    const run = await bpmn.start("p", {}, { id: "r" });
    await world.settle();
    expect(notes).toEqual(["a start", "a work", "a end", "u start", "u create"]);
    await bpmn.tasks.complete("r u/task", { ok: true });
    expect(await ended(world, run)).toEqual({ ok: true });
    expect(notes.slice(5)).toEqual(["u complete", "u end"]);
  });

  test("a listener sees the inputs of its element, and its result is seen by the work and the outputs", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open({
      handlers: {
        before: ({ variables }) => ({ doubled: Number(variables.given) * 2 }),
        work: ({ variables }) => ({ sum: Number(variables.doubled) + 1 }),
        after: () => ({ tax: 3 }),
      },
    });
    const mapping = `<camunda:inputOutput><camunda:inputParameter name="given">#{x}</camunda:inputParameter><camunda:outputParameter name="total">#{sum + tax}</camunda:outputParameter></camunda:inputOutput>`;
    const xml = camunda(
      `${END}<serviceTask id="a" camunda:class="work">${extended(mapping + listener("start", "before") + listener("end", "after"))}</serviceTask>`,
      "s -> a\na -> e",
    );
    await bpmn.deploy(xml);
    expect(await ended(world, await bpmn.start("p", { x: 5 }))).toEqual({ x: 5, doubled: 10, tax: 3, total: 14 });
  });

  test("events, gateways, sub-processes, calls and every instance of a loop call their listeners", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { notes, handlers } = noting();
    const { bpmn } = await open({ handlers });
    const both = extended(listener("start") + listener("end"));
    const xml = camunda(
      `<exclusiveGateway id="g">${both}</exclusiveGateway>
       <subProcess id="sub">${both}<startEvent id="is">${both}</startEvent></subProcess>
       <manualTask id="m">${both}<multiInstanceLoopCharacteristics isSequential="true"><loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics></manualTask>
       <intermediateThrowEvent id="t">${both}</intermediateThrowEvent>
       <endEvent id="e">${both}<terminateEventDefinition/></endEvent>`,
      "s -> g\ng -> sub\nsub -> m\nm -> t\nt -> e",
    );
    await bpmn.deploy(xml, { strict: true });
    await ended(world, await bpmn.start("p"));
    const called = ["g", "sub", "is", "m", "m", "t", "e"].flatMap((id) => [`${id} start`, `${id} end`]);
    const nested = ["g start", "g end", "sub start", "is start", "is end", "sub end"];
    expect(notes).toEqual([...nested, ...called.slice(6)]);
  });

  test("listeners of Camunda 8 have retries, and are called for their event types", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    let attempts = 0;
    const { notes, handlers } = noting();
    const failing = (): never => {
      attempts += 1;
      throw new Error("down");
    };
    const { bpmn } = await open({ handlers: { ...handlers, failing } });
    const xml = camunda(
      `${END}<userTask id="a">${extended(`<zeebe:executionListeners><zeebe:executionListener eventType="start" type="note"/><zeebe:executionListener eventType="end" type="failing" retries="2"/></zeebe:executionListeners>
        <zeebe:taskListeners><zeebe:taskListener eventType="creating" type="note"/><zeebe:taskListener eventType="assigning" type="note"/></zeebe:taskListeners>`)}</userTask>`,
      "s -> a\na -> e",
    ).replace(/xmlns:camunda="[^"]*"/, 'xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"');
    const [deployed] = await bpmn.deploy(xml);
    expect(deployed?.ignored).toMatchObject([{ element: "a", extension: "zeebe:taskListener assigning" }]);
    const run = await bpmn.start("p", {}, { id: "r" });
    await world.settle();
    expect(notes).toEqual(["a start", "a create"]);
    await bpmn.tasks.complete("r a/task");
    await world.advance("1 hour");
    expect(attempts).toBe(2);
    expect((await bpmn.view(run.id)).incidents).toMatchObject([{ element: "a", kind: "failed", message: "down" }]);
  });

  test("a retry of a listener that failed calls neither the work nor earlier listeners again", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    let isUp = false;
    const { notes, handlers } = noting();
    const last = (job: Job): void => {
      if (!isUp) throw new Error("down");
      handlers.note(job);
    };
    const { bpmn } = await open({ handlers: { ...handlers, last }, retry: { maxAttempts: 1 } });
    const xml = camunda(
      `${END}<serviceTask id="a" camunda:class="work">${extended(listener("start") + listener("start", "last") + listener("end") + listener("end", "last"))}</serviceTask>`,
      "s -> a\na -> e",
    );
    await bpmn.deploy(xml);
    const run = await bpmn.start("p");
    await world.advance("1 s");
    expect(notes).toEqual(["a start"]);
    isUp = true;
    await bpmn.operate.retryIncidents([run.id]);
    await ended(world, run);
    expect(notes).toEqual(["a start", "a start", "a work", "a end", "a end"]);
  });

  test("an error of a listener is caught by the model, and an operator can skip an element without its listeners", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { notes, handlers } = noting();
    const refuse = (): never => {
      throw new BpmnError("NO", "no", { why: "late" });
    };
    const { bpmn } = await open({ handlers: { ...handlers, refuse } });
    const xml = camunda(
      `${END}<manualTask id="a">${extended(listener("end", "refuse"))}</manualTask>
       <boundaryEvent id="b" attachedToRef="a"><errorEventDefinition/></boundaryEvent>
       <manualTask id="c">${extended(listener("start", "missing") + listener("end"))}</manualTask>`,
      "s -> a\na -> e\nb -> c\nc -> e",
    );
    await bpmn.deploy(xml);
    const run = await bpmn.start("p");
    await world.settle();
    const { incidents } = await bpmn.view(run.id);
    expect(incidents).toMatchObject([{ element: "c", kind: "noHandler" }]);
    expect(incidents[0]?.message).toBe("the start listener of c has no handler; register one named missing");
    await bpmn.operate.skip(run.id, incidents[0]?.row ?? 0);
    expect(await ended(world, run)).toEqual({ why: "late" });
    expect(notes).toEqual([]);
  });

  test("a timer on the edge interrupts a task while its start listener runs, and none does while its end listener runs", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open({
      handlers: {
        fail: () => {
          throw new Error("down");
        },
      },
      retry: { maxAttempts: 1 },
    });
    const timed = (event: string): string =>
      camunda(
        `${END}<manualTask id="a">${extended(listener(event, "fail"))}</manualTask><userTask id="late"/>
         <boundaryEvent id="b" attachedToRef="a"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>`,
        "s -> a\na -> e\nb -> late\nlate -> e",
      );
    const places: unknown[] = [];
    for (const event of ["start", "end"]) {
      await bpmn.deploy(timed(event));
      const run = await bpmn.start("p");
      await world.advance("2 hours");
      places.push((await bpmn.view(run.id)).currentNodes.map(({ element }) => element));
    }
    expect(places).toEqual([["late"], ["a"]]);
  });

  test("a listener that was called is not called again after a crash at any commit", async () => {
    const xml = camunda(
      `${END}<serviceTask id="a" camunda:class="note">${extended(listener("start") + listener("end"))}</serviceTask>`,
      "s -> a\na -> e",
    );
    let crashes = 0;
    for (const applied of [true, false]) {
      for (let commit = 1, isOver = false; !isOver; commit += 1) {
        const { open, world } = await site(await openStore(onTestFinished));
        const calls: string[] = [];
        const note = ({ listener, idempotencyKey }: Job): void =>
          void calls.push(`${listener ?? "work"} ${idempotencyKey}`);
        const options = { handlers: { note }, snapshotEvery: 1 };
        const client = await open();
        await client.bpmn.deploy(xml);
        await client.bpmn.start("p", {}, { id: "r" });
        client.process.crash();
        const first = await open(options, { commit, applied });
        await world.advance(TAKE_OVER);
        const successor = await open(options);
        await world.advance(TAKE_OVER);
        expect(await successor.engine.run("r").status()).toBe("completed");
        expect(new Set(calls).size).toBe(3);
        expect(calls.length).toBeLessThanOrEqual(4);
        isOver = !first.process.crashed;
        if (!isOver) crashes += 1;
      }
    }
    expect(crashes).toBeGreaterThanOrEqual(4);
  }, 30_000);
});
