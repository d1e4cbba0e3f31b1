import { type Store, type Workflow, workflow } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import type { AskOptions, HumanTask, TaskOutcome, Tasks } from "../index.ts";
import { ended, type Site, STORES, siteOf, TAKE_OVER } from "../testing/site.ts";

const site = (store: Store): Promise<Site> => siteOf(store, onTestFinished);

/** A workflow that asks once. Its tasks API is set after its engine is open. */
function asking(options: AskOptions): { readonly work: Workflow<unknown, TaskOutcome>; tasks: Tasks | null } {
  const holder: { tasks: Tasks | null } = { tasks: null };
  const work = workflow("asking", async (ctx) => {
    if (holder.tasks === null) throw new Error("no tasks");
    return await holder.tasks.ask(ctx, "Approve", options);
  });
  return Object.assign(holder, { work });
}

describe.each(STORES)("tasks of code workflows, on the store '%s'", (_name, openStore) => {
  async function started(options: AskOptions) {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn, engine, process } = await open({ now: () => world.clock.now() });
    const asked = asking(options);
    asked.tasks = bpmn.tasks;
    await engine.register(asked.work);
    const run = await engine.start(asked.work, undefined, { id: "w" });
    await world.settle();
    const openTasks = async (): Promise<readonly HumanTask[]> => (await bpmn.tasks.list({ runId: "w" })).items;
    return { asked, open, world, bpmn, engine, process, run, openTasks };
  }

  test("a workflow waits for its task, and gets who completed it and the variables", async () => {
    const { bpmn, run, world, openTasks } = await started({
      candidateGroups: ["sales"],
      priority: 5,
      form: { schema: { type: "object", required: ["ok"] } },
    });
    const [task] = await openTasks();
    expect(task).toMatchObject({ name: "Approve", candidateGroups: ["sales"], priority: 5 });
    const id = task?.id ?? "";
    await bpmn.tasks.claim(id, "ann", { groups: ["sales"] });
    await expect(bpmn.tasks.complete(id, {}, { by: "ann" })).rejects.toMatchObject({ code: "FORM_INVALID" });
    await bpmn.tasks.complete(id, { ok: true }, { by: "ann" });
    expect(await ended(world, run)).toEqual({ state: "completed", task: id, by: "ann", variables: { ok: true } });
    await expect(bpmn.tasks.complete(id)).rejects.toMatchObject({ code: "TASK_STATE" });
  });

  test("a task that is cancelled ends the wait, and a cancelled run cancels its task", async () => {
    const first = await started({});
    const [task] = await first.openTasks();
    await first.bpmn.tasks.cancel(task?.id ?? "");
    expect(await ended(first.world, first.run)).toEqual({ state: "cancelled", task: task?.id });
    const second = await started({ candidateUsers: ["ann"] });
    const [other] = await second.openTasks();
    await second.engine.cancel("w");
    expect(await second.bpmn.tasks.get(other?.id ?? "")).toMatchObject({ state: "cancelled" });
    expect((await second.bpmn.tasks.list({ candidateUser: "ann" })).items).toEqual([]);
  });

  test("a task whose time is over is cancelled", async () => {
    const { bpmn, run, world, openTasks } = await started({ timeout: "1 hour" });
    const [task] = await openTasks();
    await world.advance("61 minutes");
    expect(await ended(world, run)).toEqual({ state: "timedOut", task: task?.id });
    expect(await bpmn.tasks.get(task?.id ?? "")).toMatchObject({
      state: "cancelled",
      history: [{}, { why: "its time is over" }],
    });
  });

  test("a rewind to before the question cancels its task and asks again", async () => {
    const { bpmn, run, world, openTasks } = await started({});
    const [task] = await openTasks();
    await world.advance("1 minute");
    await run.rewind("Approve");
    await world.settle();
    const [again] = await openTasks();
    expect(again?.id).toBe(`${task?.id} ~2`);
    expect(await bpmn.tasks.get(task?.id ?? "")).toMatchObject({ state: "cancelled" });
    await bpmn.tasks.complete(again?.id ?? "", { x: 1 });
    expect(await ended(world, run)).toMatchObject({ variables: { x: 1 } });
  });

  test("a question is asked once, whichever commit the worker crashes at", async () => {
    let crashes = 0;
    for (const applied of [true, false]) {
      for (let commit = 1, isOver = false; !isOver; commit += 1) {
        const { open, world } = await site(await openStore(onTestFinished));
        const asked = asking({ candidateUsers: ["ann"] });
        const client = await open();
        await client.engine.register(asked.work);
        await client.engine.start(asked.work, undefined, { id: "w" });
        client.process.crash();
        const first = await open({}, { commit, applied });
        asked.tasks = first.bpmn.tasks;
        void first.engine.register(asked.work);
        await world.advance(TAKE_OVER);
        const { bpmn, engine, process } = await open();
        asked.tasks = bpmn.tasks;
        void process;
        await engine.register(asked.work);
        await world.advance(TAKE_OVER);
        const { items } = await bpmn.tasks.list({ candidateUser: "ann", state: "any" });
        expect(items.map(({ state }) => state)).toEqual(["open"]);
        await bpmn.tasks.complete(items[0]?.id ?? "");
        await world.advance(TAKE_OVER);
        expect(await engine.run("w").status()).toBe("completed");
        isOver = !first.process.crashed;
        if (!isOver) crashes += 1;
      }
    }
    expect(crashes).toBeGreaterThanOrEqual(4);
  }, 30_000);

  test("a question with wrong options, or outside of a workflow, is rejected", async () => {
    const { bpmn } = await started({});
    const ctx = { step: () => undefined, listen: () => undefined, now: () => 0, runId: "x" };
    for (const [given, name, options] of [
      [{}, "x", {}],
      [ctx, "", {}],
      [ctx, "x", { id: "t" }],
      [ctx, "x", { timeout: "soon" }],
      [ctx, "x", { form: { schema: { typ: 1 } } }],
    ])
      await expect(bpmn.tasks.ask(given as never, name as never, options as never)).rejects.toThrow(
        /must|unknown|typ|DURATION|option/i,
      );
  });
});
