import { createClient, type Store, workflow } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import { humanTasks, OVERDUE_TOPIC, type OverdueTask } from "../index.ts";
import { documentOf, flows } from "../testing/document.ts";
import { ended, type Site, STORES, siteOf, TAKE_OVER } from "../testing/site.ts";

const site = (store: Store): Promise<Site> => siteOf(store, onTestFinished);

const process = (inside: string, text: string, beside = ""): string =>
  documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(text)}`, beside);

/** With a crash at the first commit, at the second, and so on, once before and once after it is applied. */
async function atEachCommit(
  scenario: (crashAt: { readonly commit: number; readonly applied: boolean }) => Promise<boolean>,
): Promise<number> {
  let crashes = 0;
  for (const applied of [true, false]) {
    for (let commit = 1; await scenario({ commit, applied }); commit += 1) crashes += 1;
  }
  return crashes;
}

const SCHEMA = JSON.stringify({
  type: "object",
  required: ["ok"],
  properties: { ok: { type: "boolean" }, note: { type: "string", maxLength: 5 } },
  additionalProperties: false,
}).replaceAll('"', "&quot;");

const APPROVE = `<userTask id="approve" name="Approve" pawl:description="=&quot;of &quot; + who" pawl:candidateGroups="sales, board" pawl:candidateUsers="=[who]"
  pawl:priority="high" pawl:dueDate="P1D" pawl:followUpDate="2030-01-01T00:00:00Z" pawl:formSchema="${SCHEMA}"/>`;

describe.each(STORES)("human tasks, on the store '%s'", (_name, openStore) => {
  test("a user task creates a human task with the model's settings and the run's variables", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open({ now: () => world.clock.now() });
    await bpmn.deploy(process(APPROVE, "s -> approve\napprove -> e"));
    const run = await bpmn.start("p", { who: "ann", cents: 5 }, { id: "r" });
    await world.settle();
    const task = await bpmn.tasks.get("r approve/task");
    expect(task).toMatchObject({
      state: "open",
      name: "Approve",
      description: "of ann",
      assignee: null,
      candidateUsers: ["ann"],
      candidateGroups: ["sales", "board"],
      priority: 75,
      followUpAt: Date.UTC(2030, 0, 1),
      variables: { who: "ann", cents: 5 },
      run: { id: "r", process: "p", version: 1, element: "approve", location: "approve/task" },
    });
    expect((task.dueAt ?? 0) - task.createdAt).toBe(24 * 3_600_000);
    for (const query of [
      { candidateGroup: "board" },
      { candidateUser: "ann" },
      { runId: "r" },
      { due: "any" },
    ] as const) {
      expect((await bpmn.tasks.list(query)).items.map(({ id }) => id)).toEqual([task.id]);
    }
    for (const query of [
      { candidateGroup: "it" },
      { due: "overdue" },
      { assignee: "ann" },
      { state: "completed" },
    ] as const) {
      expect((await bpmn.tasks.list(query)).items).toEqual([]);
    }
    await bpmn.tasks.claim(task.id, "bob", { groups: ["sales"] });
    await bpmn.tasks.complete(task.id, { ok: true }, { by: "bob" });
    expect(await ended(world, run)).toEqual({ who: "ann", cents: 5, ok: true });
    expect(await bpmn.tasks.get(task.id)).toMatchObject({
      state: "completed",
      completion: { by: "bob", variables: { ok: true } },
    });
    expect((await bpmn.tasks.list({ candidateGroup: "board" })).items).toEqual([]);
    expect((await bpmn.tasks.list({ candidateGroup: "board", state: "any" })).items).toMatchObject([
      { state: "completed" },
    ]);
  });

  test("a completion that does not match the form is rejected with all problems and changes nothing", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open({
      forms: { f: { type: "object", properties: { n: { type: "integer", minimum: 1 } } } },
    });
    await bpmn.deploy(process(`${APPROVE}<userTask id="b" pawl:formId="f"/>`, "s -> approve\napprove -> b\nb -> e"));
    await bpmn.start("p", { who: "ann" }, { id: "r" });
    await world.settle();
    const wrong = bpmn.tasks.complete("r approve/task", { note: "too long", more: 1 });
    await expect(wrong).rejects.toMatchObject({
      code: "FORM_INVALID",
      problems: [{ path: "/ok" }, { path: "/note" }, { path: "/more" }],
    });
    await world.settle();
    expect(await bpmn.tasks.get("r approve/task")).toMatchObject({ state: "open", completion: null });
    await bpmn.tasks.complete("r approve/task", { ok: false });
    await world.settle();
    await expect(bpmn.tasks.complete("r b/task", { n: 0 })).rejects.toMatchObject({ code: "FORM_INVALID" });
    await expect(bpmn.tasks.complete("r approve/task", { ok: true })).rejects.toMatchObject({ code: "TASK_STATE" });
    const bad = process('<userTask id="a" pawl:formSchema="{&quot;typ&quot;: 1}"/>', "s -> a\na -> e");
    await expect(bpmn.deploy(bad)).rejects.toMatchObject({ code: "MODEL_INVALID", problems: [{ element: "a" }] });
  });

  test("only one of three concurrent claims of a task succeeds, from client processes", async () => {
    const store = await openStore(onTestFinished);
    const { open, world } = await site(store);
    const { bpmn } = await open();
    await bpmn.deploy(process('<userTask id="a" pawl:candidateGroups="g"/>', "s -> a\na -> e"));
    const run = await bpmn.start("p", {}, { id: "r" });
    await world.settle();
    const clients = await Promise.all(
      ["ann", "bob", "eve"].map(() => createClient({ store, world, log: () => undefined })),
    );
    const claims = ["ann", "bob", "eve"].map((user, index) => {
      const engine = clients[index];
      if (engine === undefined) throw new Error("no client");
      return humanTasks({ engine }).claim("r a/task", user, { groups: ["g"] });
    });
    const outcomes = await Promise.allSettled(claims);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected", "rejected"]);
    for (const outcome of outcomes)
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ code: "TASK_STATE" });
    const { assignee, history } = await bpmn.tasks.get("r a/task");
    expect(history.map(({ kind, to }) => [kind, to])).toEqual([
      ["created", null],
      ["claimed", assignee],
    ]);
    expect((await bpmn.tasks.list({ assignee: assignee ?? "" })).items).toHaveLength(1);
    await expect(bpmn.tasks.claim("r a/task", "x", { groups: ["other"] })).rejects.toMatchObject({
      code: "TASK_STATE",
    });
    const [engine] = clients;
    if (engine !== undefined) await humanTasks({ engine }).complete("r a/task", { by: 1 }, { by: assignee ?? "" });
    await world.advance("2 s");
    expect(await ended(world, run)).toEqual({ by: 1 });
  });

  test("the history of a task records assignment, release, delegation, return and comments", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    await bpmn.deploy(process('<userTask id="a" pawl:candidateGroups="g"/>', "s -> a\na -> e"));
    await bpmn.start("p", {}, { id: "r" });
    await world.settle();
    const { tasks } = bpmn;
    await expect(tasks.claim("r a/task", "ann")).rejects.toMatchObject({ code: "TASK_FORBIDDEN" });
    await expect(tasks.release("r a/task")).rejects.toMatchObject({ code: "TASK_STATE" });
    await tasks.assign("r a/task", "ann", { by: "boss" });
    await expect(tasks.complete("r a/task", {}, { by: "bob" })).rejects.toMatchObject({ code: "TASK_FORBIDDEN" });
    await tasks.delegate("r a/task", "bob", { by: "ann", why: "away" });
    expect(await tasks.get("r a/task")).toMatchObject({ assignee: "bob", owner: "ann" });
    await tasks.comment("r a/task", "have a look", { by: "ann" });
    await tasks.release("r a/task", { by: "bob" });
    expect(await tasks.get("r a/task")).toMatchObject({ assignee: "ann", owner: null });
    await tasks.release("r a/task", { by: "ann" });
    const kinds = (await tasks.history("r a/task")).map(({ kind, by, to }) => `${kind} by ${by} to ${to}`);
    expect(kinds).toEqual([
      "created by null to null",
      "assigned by boss to ann",
      "delegated by ann to bob",
      "commented by ann to bob",
      "released by bob to ann",
      "released by ann to null",
    ]);
    expect((await tasks.get("r a/task")).comments).toMatchObject([{ by: "ann", text: "have a look" }]);
    await expect(tasks.get("none")).rejects.toMatchObject({ code: "TASK_NOT_FOUND" });
  });

  test("a task is cancelled in the commit that removes its token: boundary event, terminate, cancel or rewind", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn, engine } = await open();
    const timed = process(
      '<userTask id="a"/><userTask id="late"/><boundaryEvent id="b" attachedToRef="a"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>',
      "s -> a\na -> e\nb -> late\nlate -> e",
    );
    await bpmn.deploy(timed);
    await bpmn.start("p", {}, { id: "timer" });
    await bpmn.start("p", {}, { id: "cancel" });
    await world.settle();
    await engine.cancel("cancel");
    expect(await bpmn.tasks.get("cancel a/task")).toMatchObject({ state: "cancelled" });
    await world.advance("2 h");
    expect(await engine.run("timer").status()).toBe("suspended");
    expect(await bpmn.tasks.get("timer late/task")).toMatchObject({ state: "open" });
    expect(await bpmn.tasks.get("timer a/task")).toMatchObject({ state: "cancelled" });
    await expect(bpmn.tasks.complete("timer a/task")).rejects.toMatchObject({ code: "TASK_STATE" });
    const ending = process(
      '<userTask id="a"/><userTask id="b"/><parallelGateway id="g"/><endEvent id="t"><terminateEventDefinition/></endEvent>',
      "s -> g\ng -> a\ng -> b\na -> t\nb -> e",
    );
    await bpmn.deploy(ending);
    const run = await bpmn.start("p", {}, { id: "r" });
    await world.settle();
    await bpmn.tasks.complete("r a/task");
    await ended(world, run);
    expect(await bpmn.tasks.get("r b/task")).toMatchObject({ state: "cancelled" });
    await run.rewind("a/task", { messages: "drop" });
    await world.advance("2 s");
    const { items } = await bpmn.tasks.list({ runId: "r" });
    expect(items.map(({ id }) => id)).toEqual(["r a/task ~1", "r b/task ~1"]);
    await bpmn.tasks.complete("r a/task ~1", { again: true });
    expect(await ended(world, run)).toEqual({ again: true });
  });

  test("an overdue task emits an event and escalates in its process", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const received: OverdueTask[] = [];
    const watcher = workflow("watcher", async (ctx) => {
      received.push((await ctx.awaitEvent<OverdueTask>(OVERDUE_TOPIC)).value);
    });
    const { bpmn, engine } = await open({
      now: () => world.clock.now(),
      handlers: { remind: () => ({ reminded: true }) },
    });
    await engine.register(watcher);
    await engine.start(watcher, undefined);
    const xml = process(
      `<userTask id="a" pawl:dueDate="PT1H"/><serviceTask id="remind"/>
       <boundaryEvent id="b" attachedToRef="a" cancelActivity="false"><escalationEventDefinition escalationRef="O"/></boundaryEvent>`,
      "s -> a\na -> e\nb -> remind\nremind -> e",
      '<escalation id="O" escalationCode="overdue"/>',
    );
    await bpmn.deploy(xml);
    const run = await bpmn.start("p", {}, { id: "r" });
    await world.settle();
    expect((await bpmn.tasks.list({ due: "overdue" })).items).toEqual([]);
    await world.advance("61 minutes");
    expect(received).toMatchObject([{ task: "r a/task", runId: "r" }]);
    expect((await bpmn.tasks.list({ due: "overdue" })).items).toMatchObject([{ id: "r a/task", state: "open" }]);
    await bpmn.tasks.complete("r a/task");
    expect(await ended(world, run)).toEqual({ reminded: true });
  });

  test("tasks of a multi-instance activity are paged without gaps while some are completed", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    const xml = process(
      `<userTask id="a" pawl:candidateGroups="g"><multiInstanceLoopCharacteristics><loopCardinality>25</loopCardinality></multiInstanceLoopCharacteristics></userTask>`,
      "s -> a\na -> e",
    );
    await bpmn.deploy(xml);
    await bpmn.start("p", {}, { id: "r" });
    await world.settle();
    const seen: string[] = [];
    for (let cursor: string | undefined; ; ) {
      const page = await bpmn.tasks.list({ candidateGroup: "g", limit: 7, ...(cursor && { cursor }) });
      seen.push(...page.items.map(({ id }) => id));
      if (page.items[0] !== undefined) await bpmn.tasks.complete(page.items[0].id);
      await world.settle();
      if (page.cursor === null) break;
      cursor = page.cursor;
    }
    expect(new Set(seen).size).toBe(25);
    expect(seen).toEqual([...seen].sort());
  });

  test("a task outside of processes notifies a run of its end in the same commit", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn, engine } = await open();
    const { tasks } = bpmn;
    const asking = workflow("asking", async (ctx) => {
      await ctx.step("ask", () =>
        tasks
          .create({ id: ctx.runId, name: "Ask", notify: { runId: ctx.runId, message: "task ended" } })
          .then(() => null),
      );
      return (await ctx.listen("task ended")).value;
    });
    await engine.register(asking);
    const run = await engine.start(asking, undefined, { id: "w" });
    await world.settle();
    expect((await tasks.list({ runId: "w" })).items).toMatchObject([{ id: "w", name: "Ask", state: "open" }]);
    await expect(tasks.create({ id: "w", name: "again" })).rejects.toMatchObject({ code: "TASK_STATE" });
    await tasks.complete("w", { yes: 1 }, { by: "ann" });
    expect(await ended(world, run)).toEqual({ task: "w", state: "completed", by: "ann", variables: { yes: 1 } });
    const late = await engine.start(asking, undefined, { id: "late" });
    await world.settle();
    await late.cancel();
    await expect(tasks.complete("late")).rejects.toMatchObject({ code: "TASK_STATE" });
    expect(await tasks.get("late")).toMatchObject({ state: "cancelled", history: [{}, { kind: "cancelled" }] });
    await expect(tasks.create({ name: "" })).rejects.toMatchObject({ code: "NAME_INVALID" });
  });

  test("a cancelled task ends its token", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    await bpmn.deploy(process('<userTask id="a"/>', "s -> a\na -> e"));
    const run = await bpmn.start("p", {}, { id: "r" });
    await world.settle();
    await bpmn.tasks.cancel("r a/task", { by: "boss", why: "not needed" });
    await ended(world, run);
    expect(await bpmn.tasks.get("r a/task")).toMatchObject({ state: "cancelled" });
    expect((await bpmn.tasks.history("r a/task")).at(-1)).toMatchObject({
      kind: "cancelled",
      by: "boss",
      why: "not needed",
    });
  });

  test("the history of a task is correct after a crash at any commit", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const store = await openStore(onTestFinished);
      const { open, world } = await site(store);
      const xml = process(
        `<userTask id="a" pawl:candidateGroups="g" pawl:dueDate="PT1H"/><userTask id="b"/>
         <boundaryEvent id="t" attachedToRef="b"><timerEventDefinition><timeDuration>PT1M</timeDuration></timerEventDefinition></boundaryEvent>`,
        "s -> a\na -> b\nb -> e\nt -> e",
      );
      const client = await open();
      await client.bpmn.deploy(xml);
      await client.bpmn.start("p", {}, { id: "r" });
      client.process.crash();
      const first = await open({}, crashAt);
      await world.advance(TAKE_OVER);
      const tasks = humanTasks({ engine: await createClient({ store, world, log: () => undefined }) });
      const done = await tasks.complete("r a/task", { x: 1 }).then(
        () => true,
        () => false,
      );
      await world.advance("2 s");
      const successor = await open();
      await world.advance(TAKE_OVER);
      if (!done) await tasks.complete("r a/task", { x: 1 });
      await world.advance("2 minutes");
      expect(await successor.engine.run("r").status()).toBe("completed");
      const states = (await tasks.list({ runId: "r", state: "any" })).items.map(({ id, state }) => `${id} ${state}`);
      expect(states).toEqual(["r a/task completed", "r b/task cancelled"]);
      expect((await tasks.list({ candidateGroup: "g", state: "open" })).items).toEqual([]);
      return first.process.crashed;
    });
    expect(crashes).toBeGreaterThanOrEqual(3);
  });
});
