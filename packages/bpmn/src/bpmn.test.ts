import { memoryStore, type Store, workflow } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import { BpmnError, problemsOf } from "./index.ts";
import { documentOf, flows } from "./testing/document.ts";
import { ended, type Options, type Site, STORES, siteOf, TAKE_OVER } from "./testing/site.ts";

const site = (store: Store): Promise<Site> => siteOf(store, onTestFinished);

const process = (inside: string, text: string, beside = ""): string =>
  documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(text)}`, beside);

describe.each(STORES)("processes, on the store '%s'", (_name, openStore) => {
  test("a process calls handlers by name, element and type, and the next handler sees their results", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open({
      handlers: { charge: ({ variables }) => ({ paid: Number(variables.cents) }), mail: () => ({ mailed: true }) },
      tasks: { scriptTask: ({ element }) => ({ script: "script" in element ? element.script?.text : null }) },
    });
    const xml = process(
      `<serviceTask id="a" pawl:handler="charge"/><serviceTask id="mail"/><scriptTask id="x"><script>hi</script></scriptTask>`,
      "s -> a\na -> mail\nmail -> x\nx -> e",
    );
    expect(await bpmn.deploy(xml)).toEqual([{ process: "p", version: 1, isNew: true }]);
    const run = await bpmn.start("p", { cents: 499 });
    expect(await ended(world, run)).toEqual({ cents: 499, paid: 499, mailed: true, script: "hi" });
    expect(await bpmn.view(run.id)).toMatchObject({ progress: 1, currentNodes: [], incidents: [] });
  });

  test("a run stays on its version, and deploying the same model again creates no version", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    const first = process('<userTask id="a"/>', "s -> a\na -> e");
    const second = process('<userTask id="b"/>', "s -> b\nb -> e");
    await bpmn.deploy(first);
    const run = await bpmn.start("p");
    expect(await bpmn.deploy(first)).toEqual([{ process: "p", version: 1, isNew: false }]);
    expect(await bpmn.deploy(second)).toEqual([{ process: "p", version: 2, isNew: true }]);
    const later = await bpmn.start("p");
    await world.settle();
    expect((await bpmn.view(run.id)).currentNodes).toMatchObject([{ element: "a" }]);
    expect((await bpmn.view(later.id)).currentNodes).toMatchObject([{ element: "b" }]);
    const old = await bpmn.start("p", {}, { version: 1 });
    await world.settle();
    expect((await bpmn.view(old.id)).tasks).toMatchObject([{ element: "a", location: "a/task" }]);
    await expect(bpmn.start("p", {}, { version: 9 })).rejects.toMatchObject({ code: "PROCESS_NOT_FOUND" });
  });

  test("a new engine continues process runs in their exact state", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const before = await open();
    await before.bpmn.deploy(process('<userTask id="a"/><serviceTask id="b"/>', "s -> a\na -> b\nb -> e"));
    const run = await before.bpmn.start("p", { x: 1 });
    await world.settle();
    before.process.crash();
    const { bpmn, engine } = await open({ handlers: { b: () => ({ y: 2 }) } });
    await world.advance(TAKE_OVER);
    await bpmn.completeTask(run.id, "a/task", { by: "ann" });
    expect(await ended(world, engine.run(run.id))).toEqual({ x: 1, by: "ann", y: 2 });
    await expect(bpmn.completeTask(run.id, "a/task")).rejects.toMatchObject({ code: "PROCESS_STATE" });
  });

  test("a failing handler is retried by its policy and then becomes an incident; a BPMN error is not retried", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    let attempts = 0;
    let isUp = false;
    const { bpmn } = await open({
      handlers: {
        a: () => {
          attempts += 1;
          if (!isUp) throw new Error("down");
          throw new BpmnError("LATE", "too late", { days: 2 });
        },
      },
      retry: { maxAttempts: 3, initialMs: 1_000, jitter: 0 },
    });
    const xml = process(
      '<serviceTask id="a"/><boundaryEvent id="x" attachedToRef="a"><errorEventDefinition errorRef="E"/></boundaryEvent>',
      "s -> a\na -> e\nx -> e",
      '<error id="E" errorCode="LATE"/>',
    );
    await bpmn.deploy(xml);
    const run = await bpmn.start("p");
    await world.advance("10 s");
    expect(attempts).toBe(3);
    const { incidents } = await bpmn.view(run.id);
    expect(incidents).toMatchObject([{ element: "a", kind: "failed", message: "down" }]);
    isUp = true;
    const report = await bpmn.operate.retryIncidents([run.id]);
    expect(report).toMatchObject({ sent: 1, incidents: [{ element: "a", outcome: "sent" }], withoutIncidents: [] });
    expect(await ended(world, run)).toEqual({ days: 2 });
    expect(attempts).toBe(4);
    expect(await bpmn.operate.retryIncidents([run.id])).toMatchObject({ sent: 0, withoutIncidents: [run.id] });
  });

  test("an incident leaves one log line, one event and one count, also after a crash", async () => {
    const { open, world, log } = await site(await openStore(onTestFinished));
    const handlers = {
      a: () => {
        throw new Error("down");
      },
    };
    const retry = { maxAttempts: 1 };
    const first = await open({ handlers, retry });
    const events: unknown[] = [];
    first.engine.on("run.incident", (event) => events.push(event));
    await first.bpmn.deploy(process('<serviceTask id="a"/>', "s -> a\na -> e"));
    const run = await first.bpmn.start("p");
    await world.advance("1 s");
    const told = { element: "a", reason: "failed" };
    expect(events).toMatchObject([{ kind: "run.incident", runId: run.id, ...told, message: "down" }]);
    expect(first.engine.metrics()).toMatchObject({ incidents: 1, failedRuns: 0 });
    first.process.crash();
    const second = await open({ handlers, retry });
    await world.advance(TAKE_OVER);
    await second.bpmn.operate.retryIncidents([run.id]);
    await world.advance("1 s");
    const lines = log.filter(({ text }) => text.startsWith("incident: "));
    expect(lines.map(({ fields }) => fields)).toMatchObject(Array(2).fill({ run: run.id, ...told, error: "down" }));
    expect(second.engine.metrics()).toMatchObject({ incidents: 1 });
  });

  test("an element without a handler is an incident that names the missing handler", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    await bpmn.deploy(process('<serviceTask id="a" pawl:handler="charge"/>', "s -> a\na -> e"));
    const run = await bpmn.start("p");
    await world.settle();
    const { incidents } = await bpmn.view(run.id);
    expect(incidents).toMatchObject([{ kind: "noHandler", message: "a has no handler; register one named charge" }]);
    await bpmn.operate.skip(run.id, incidents[0]?.row ?? 0, { paid: 0 });
    expect(await ended(world, run)).toEqual({ paid: 0 });
  });

  test("a message reaches the instance with its key, is kept for it, is deduplicated by id, or starts an instance", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn, engine } = await open();
    const message =
      '<message id="M" name="paid"><extensionElements><pawl:subscription correlationKey="= order"/></extensionElements></message><message id="N" name="ordered"/>';
    await bpmn.deploy(
      process(
        '<intermediateCatchEvent id="m"><messageEventDefinition messageRef="M"/></intermediateCatchEvent>',
        "s -> m\nm -> e",
        message,
      ),
    );
    await bpmn.deploy(
      documentOf(
        `<startEvent id="s"><messageEventDefinition messageRef="N"/></startEvent><userTask id="u"/>${flows("s -> u")}`,
        message,
      ).replace('process id="p"', 'process id="q"'),
    );
    await world.settle();
    const one = await bpmn.start("p", { order: "o-1" });
    expect(await bpmn.publish("paid", { key: "o-2", variables: { cents: 2 }, id: "x" })).toMatchObject({
      kind: "queued",
    });
    await world.settle();
    expect(await one.status()).toBe("suspended");
    const two = await bpmn.start("p", { order: "o-2" });
    expect(await ended(world, two)).toEqual({ order: "o-2", cents: 2 });
    expect(await bpmn.publish("paid", { key: "o-2", id: "x" })).toMatchObject({ kind: "duplicate" });
    await bpmn.publish("paid", { key: "o-1" });
    expect(await ended(world, one)).toEqual({ order: "o-1" });
    for (const n of [1, 2, 3]) await bpmn.publish("ordered", { variables: { n } });
    await world.settle();
    const started = await engine.list({ workflow: "q" });
    expect(
      started.items.map(({ input }) => (input as { startedBy: { variables: unknown } }).startedBy.variables),
    ).toEqual(expect.arrayContaining([{ n: 1 }, { n: 2 }, { n: 3 }]));
    await expect(bpmn.start("q")).rejects.toMatchObject({ code: "PROCESS_STATE" });
  });

  test("an instance that waits for two signals receives both when they are sent at once", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    const catching = (id: string, ref: string): string =>
      `<intermediateCatchEvent id="${id}"><signalEventDefinition signalRef="${ref}"/></intermediateCatchEvent>`;
    await bpmn.deploy(
      process(
        `<parallelGateway id="f"/>${catching("a", "A")}${catching("b", "B")}`,
        "s -> f\nf -> a\nf -> b\na -> e\nb -> e",
        '<signal id="A" name="a"/><signal id="B" name="b"/>',
      ),
    );
    await bpmn.signal("a", { early: true });
    await world.advance("1 s");
    const run = await bpmn.start("p");
    await world.settle();
    await world.advance("1 s");
    expect(await run.status()).toBe("suspended");
    await Promise.all([bpmn.signal("a", { x: 1 }), bpmn.signal("b", { y: 2 })]);
    expect(await ended(world, run)).toEqual({ x: 1, y: 2 });
  });

  test("a process calls processes and workflows, gets their errors, and cancels them when interrupted", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const double = workflow("double", async (ctx, input: { n: number }) => ({
      n: await ctx.step("x2", () => input.n * 2),
    }));
    const { bpmn, engine } = await open({
      workflows: [double],
      handlers: {
        t: () => {
          throw new BpmnError("LATE");
        },
      },
    });
    await engine.register(double);
    const inner = (id: string, inside: string, text: string): string =>
      process(inside, text).replace('process id="p"', `process id="${id}"`);
    await bpmn.deploy(inner("throws", '<serviceTask id="t"/>', "s -> t\nt -> e"));
    await bpmn.deploy(inner("waits", '<userTask id="w"/>', "s -> w\nw -> e"));
    await bpmn.deploy(
      process(
        `<callActivity id="a" calledElement="double"/><callActivity id="b" calledElement="throws"/><callActivity id="c" calledElement="waits"/>
         <boundaryEvent id="x" attachedToRef="b"><errorEventDefinition errorRef="E"/></boundaryEvent>
         <boundaryEvent id="y" attachedToRef="c"><timerEventDefinition><timeDuration>PT9S</timeDuration></timerEventDefinition></boundaryEvent>`,
        "s -> a\na -> b\nb -> e\nx -> c\nc -> e\ny -> e",
        '<error id="E" errorCode="LATE"/>',
      ),
    );
    const run = await bpmn.start("p", { n: 21 });
    await world.settle();
    const [child] = (await engine.list({ workflow: "waits" })).items;
    expect(child?.status).toBe("suspended");
    await world.advance("9 s");
    expect(await ended(world, run)).toEqual({ n: 42 });
    expect((await engine.get(child?.id ?? ""))?.status).toBe("cancelled");
  });

  test("a call of an unknown process is an incident that can be retried after its deployment", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    await bpmn.deploy(process('<callActivity id="a" calledElement="q"/>', "s -> a\na -> e"));
    const run = await bpmn.start("p", { x: 1 });
    await world.settle();
    const { incidents } = await bpmn.view(run.id);
    expect(incidents).toMatchObject([{ element: "a", kind: "call" }]);
    await bpmn.deploy(
      documentOf(`<startEvent id="s"/><task id="t"/>${flows("s -> t")}`).replace('process id="p"', 'process id="q"'),
    );
    await bpmn.operate.retry(run.id, incidents[0]?.row ?? 0);
    expect(await ended(world, run)).toEqual({ x: 1 });
  });

  test("a crash before or after any commit does not change the result", async () => {
    const xml = process(
      `<parallelGateway id="f"/><parallelGateway id="j"/><serviceTask id="a"/><serviceTask id="b"/>
       <serviceTask id="m"><multiInstanceLoopCharacteristics><loopCardinality>3</loopCardinality></multiInstanceLoopCharacteristics></serviceTask>
       <intermediateCatchEvent id="t"><timerEventDefinition><timeDuration>PT2S</timeDuration></timerEventDefinition></intermediateCatchEvent>
       <callActivity id="c" calledElement="q"/>`,
      "s -> f\nf -> a\nf -> b\na -> t\nt -> j\nb -> m\nm -> j\nj -> c\nc -> e",
    );
    const called = documentOf(`<startEvent id="s"/><serviceTask id="k"/>${flows("s -> k")}`).replace(
      'process id="p"',
      'process id="q"',
    );
    let crashes = 0;
    for (const applied of [true, false]) {
      for (let commit = 1; commit < 60; commit += 1) {
        const { open, world } = await site(await openStore(onTestFinished));
        const effects = new Set<string>();
        const handle = ({ element, idempotencyKey }: { element: { id: string }; idempotencyKey: string }): object => {
          effects.add(idempotencyKey);
          return { [element.id]: true };
        };
        const options: Options = { tasks: { serviceTask: handle }, snapshotEvery: 2 };
        const setup = await open(options);
        await setup.bpmn.deploy(xml);
        await setup.bpmn.deploy(called);
        await world.settle();
        setup.process.crash();
        const crashing = await open(options, { commit, applied });
        const started = crashing.bpmn.start("p", { x: 1 }, { id: "r" });
        started.catch(() => undefined);
        await world.advance("4 s");
        const successor = await open(options);
        await world.advance(TAKE_OVER);
        if ((await successor.engine.get("r")) === null) await successor.bpmn.start("p", { x: 1 }, { id: "r" });
        await world.advance("4 s");
        expect(await ended(world, successor.engine.run("r"))).toEqual({ x: 1, a: true, b: true, m: true, k: true });
        expect(effects.size).toBe(6);
        const hasEnded = !crashing.process.crashed;
        successor.process.crash();
        crashing.process.crash();
        if (hasEnded) break;
        crashes += 1;
      }
    }
    expect(crashes).toBeGreaterThan(8);
  });
});

test("an invalid model is rejected with all problems at once, each with element, line and cure", async () => {
  const { open } = await site(memoryStore());
  const { bpmn } = await open();
  const xml = process(
    `<exclusiveGateway id="g" default="nope"/><callActivity id="c"/><boundaryEvent id="x" attachedToRef="c"/>
     <intermediateCatchEvent id="t"><timerEventDefinition><timeDuration>5 days</timeDuration></timerEventDefinition></intermediateCatchEvent>
     <foo id="lost"/>`,
    "s -> g\ng -> c\nc -> t\nt -> e",
  );
  const error = await bpmn.deploy(xml).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "MODEL_INVALID" });
  const problems = problemsOf(error);
  expect(problems.map(({ element }) => element)).toEqual(expect.arrayContaining(["c", "x", "t"]));
  expect(problems.some(({ text }) => text.includes("foo"))).toBe(true);
  expect(problems.some(({ text }) => text.includes("nope"))).toBe(true);
  expect(problems.every(({ line }) => line === null || line > 4)).toBe(true);
});

test("JUEL conditions are accepted if FEEL has an equivalent, and rejected otherwise", async () => {
  const { open, world } = await site(memoryStore());
  const { bpmn } = await open();
  const model = (condition: string): string =>
    process('<exclusiveGateway id="g" default="d"/><endEvent id="z"/>', `s -> g\ng -[$\{${condition}}]-> z\ng -d-> e`);
  await bpmn.deploy(model("n == 1 && !late"));
  const run = await bpmn.start("p", { n: 1, late: false });
  await ended(world, run);
  expect((await bpmn.view(run.id)).completedNodes.map(({ element }) => element)).toContain("z");
  const error = await bpmn.deploy(model("order.isLate()")).catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: "MODEL_INVALID" });
  expect(problemsOf(error)).toMatchObject([{ element: "f2-g-z" }]);
});

test("a JSON graph executes like the equivalent BPMN document", async () => {
  const { open, world } = await site(memoryStore());
  const { bpmn } = await open({ tasks: { serviceTask: ({ element }) => ({ did: element.id }) } });
  const graph = {
    id: "g",
    nodes: [
      { id: "s", type: "startProcess" },
      { id: "x", type: "exclusiveGateway" },
      { id: "a", type: "serviceTask", data: { label: "A" } },
      { id: "b", type: "serviceTask" },
      { id: "e", type: "endProcess" },
    ],
    connections: [
      { source: "s", target: "x" },
      { source: "x", target: "b", isDefault: true },
      { source: "x", target: "a", condition: "n > 1" },
      { source: "a", target: "e" },
      { source: "b", target: "e" },
    ],
  };
  await bpmn.deploy(graph);
  expect(await ended(world, await bpmn.start("g", { n: 2 }))).toEqual({ n: 2, did: "a" });
  expect(await ended(world, await bpmn.start("g", { n: 1 }))).toEqual({ n: 1, did: "b" });
  const bad = { ...graph, nodes: [...graph.nodes, { id: "q q", type: "wonder" }] };
  expect(problemsOf(await bpmn.deploy(bad).catch((reason: unknown) => reason))).toHaveLength(2);
});

test("a long process resumes from its snapshot without reading earlier records", async () => {
  const { open, world } = await site(memoryStore());
  const evaluated: number[] = [];
  const options: Options = { handlers: { a: ({ variables }) => ({ n: Number(variables.n) + 1 }) }, snapshotEvery: 10 };
  const before = await open(options);
  await before.bpmn.deploy(
    process(
      '<serviceTask id="a"/><exclusiveGateway id="g"/><userTask id="u"/>',
      "s -> a\na -> g\ng -[n < 200]-> a\ng -[n >= 200]-> u\nu -> e",
    ),
  );
  const run = await before.bpmn.start("p", { n: 0 });
  await world.settle();
  before.process.crash();
  const evaluate: NonNullable<Options["evaluate"]> = ({ text }, variables) => {
    evaluated.push(1);
    return text.startsWith("n <") ? Number(variables.n) < 200 : Number(variables.n) >= 200;
  };
  const { engine } = await open({ ...options, evaluate });
  await world.advance(TAKE_OVER);
  await engine.run(run.id).send("bpmn task u/task", { variables: {} });
  expect(await ended(world, engine.run(run.id))).toEqual({ n: 200 });
  expect(evaluated.length).toBeLessThan(30);
});
