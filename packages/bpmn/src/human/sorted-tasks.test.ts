import type { Store } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import type { TaskQuery } from "../index.ts";
import { documentOf, flows } from "../testing/document.ts";
import { type Site, STORES, siteOf } from "../testing/site.ts";

const site = (store: Store): Promise<Site> => siteOf(store, onTestFinished);

describe.each(STORES)("lists of tasks, on the store '%s'", (_name, openStore) => {
  async function desk() {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn, engine } = await open({ now: () => world.clock.now() });
    const { tasks } = bpmn;
    const ids = async (query: TaskQuery): Promise<readonly string[]> =>
      (await tasks.list(query)).items.map(({ id }) => id);
    return { bpmn, engine, tasks, world, ids };
  }

  test("a task outside of processes has candidates, dates and tags, and is found by them", async () => {
    const { tasks, world, ids } = await desk();
    const now = world.clock.now();
    const made = await tasks.create({
      id: "t",
      name: "Call the bank",
      candidateUsers: ["ann"],
      candidateGroups: ["sales", "sales"],
      dueAt: now + 1_000,
      followUpAt: now + 500,
      tags: ["phone", "urgent"],
      priority: 75,
    });
    const facts = { dueAt: now + 1_000, followUpAt: now + 500, tags: ["phone", "urgent"] };
    expect(made).toMatchObject({ candidateUsers: ["ann"], candidateGroups: ["sales", "sales"], ...facts });
    for (const query of [
      { candidateUser: "ann" },
      { candidateGroup: "sales" },
      { candidateGroup: "sales", due: "any" },
      { due: "any" },
      { tags: ["urgent"] },
      { text: "BANK" },
      { priority: { min: 75 } },
      { forUser: { id: "eve", groups: ["sales"] } },
    ] satisfies TaskQuery[])
      expect(await ids(query)).toEqual(["t"]);
    for (const query of [
      { tags: ["urgent", "none"] },
      { text: "banks" },
      { priority: { max: 74 } },
      { forUser: { id: "eve", groups: ["it"] } },
      { due: "overdue" },
      { candidateGroup: "sales", due: { before: now } },
    ] satisfies TaskQuery[])
      expect(await ids(query)).toEqual([]);
    await expect(tasks.claim("t", "eve")).rejects.toMatchObject({ code: "TASK_FORBIDDEN" });
    await expect(tasks.create({ id: "t", name: "again", candidateUsers: ["bob"] })).rejects.toMatchObject({
      code: "TASK_STATE",
    });
    expect(await ids({ candidateUser: "bob" })).toEqual([]);
    await world.advance("2 s");
    expect(await ids({ due: "overdue" })).toEqual(["t"]);
    await tasks.create({ id: "f", name: "Form", form: { schema: { type: "object", required: ["ok"] } } });
    await expect(tasks.complete("f")).rejects.toMatchObject({ code: "FORM_INVALID" });
    await tasks.complete("t");
    for (const query of [
      { candidateUser: "ann" },
      { due: "any" },
      { candidateUser: "ann", order: "due" },
    ] satisfies TaskQuery[])
      expect(await ids(query)).toEqual([]);
    expect(await ids({ forUser: { id: "ann" }, state: "completed" })).toEqual(["t"]);
  });

  test("fields of a task that are not known, or of the wrong type, are rejected and create nothing", async () => {
    const { tasks, ids } = await desk();
    for (const wrong of [
      { name: "x", candidates: ["ann"] },
      { name: "x", due: "P1D" },
      { name: "x", dueAt: "tomorrow" },
      { name: "x", candidateGroups: "sales" },
      { name: "x", tags: [1] },
      { name: "x", followUpAt: -1 },
      { name: "" },
      { name: " " },
    ])
      await expect(tasks.create(wrong as never)).rejects.toThrow(/OPTION|NAME|must|unknown|no name/i);
    expect(await ids({ state: "any" })).toEqual([]);
  });

  test("the tasks for a user are those that the user has, and those that the user can claim", async () => {
    const { tasks, world, ids } = await desk();
    for (const [id, rest] of [
      ["1 own", { assignee: "ann" }],
      ["2 candidate", { candidateUsers: ["ann", "bob"] }],
      ["3 group", { candidateGroups: ["sales"] }],
      ["4 anyone", {}],
      ["5 of bob", { assignee: "bob", candidateGroups: ["sales"] }],
      ["6 other group", { candidateGroups: ["it"] }],
    ] as const) {
      await tasks.create({ id, name: id, ...rest });
      await world.advance("1 s");
    }
    const forUser = { id: "ann", groups: ["sales"] };
    expect(await ids({ forUser })).toEqual(["1 own", "2 candidate", "3 group", "4 anyone"]);
    expect(await ids({ forUser, unassigned: true })).toEqual(["2 candidate", "3 group", "4 anyone"]);
    await tasks.claim("2 candidate", "bob");
    await tasks.assign("6 other group", "ann");
    expect(await ids({ forUser, order: "newest" })).toEqual(["6 other group", "4 anyone", "3 group", "1 own"]);
    await expect(tasks.list({ forUser, candidateUser: "ann" })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(tasks.list({ forUser: { user: "ann" } as never })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  test("tasks are ordered by due date, priority or time, and paged without gaps while some are completed", async () => {
    const { tasks, world, ids } = await desk();
    const now = world.clock.now();
    const made = [
      { id: "a", priority: 10, dueAt: now + 3_000 },
      { id: "b", priority: 90 },
      { id: "c", dueAt: now + 1_000 },
      { id: "d", priority: 50, dueAt: now + 2_000 },
    ];
    for (const each of made) {
      await tasks.create({ name: "x", ...each });
      await world.advance("1 s");
    }
    expect(await ids({ order: "due" })).toEqual(["c", "d", "a", "b"]);
    expect(await ids({ order: "priority" })).toEqual(["b", "d", "a", "c"]);
    expect(await ids({ order: "created" })).toEqual(["a", "b", "c", "d"]);
    expect(await ids({ order: "newest", limit: 2 })).toEqual(["d", "c"]);
    const first = await tasks.list({ order: "due", limit: 2 });
    await tasks.complete("c");
    await tasks.complete("a");
    const rest = await tasks.list({ order: "due", limit: 2, cursor: first.cursor ?? "" });
    expect([first, rest].map(({ items }) => items.map(({ id }) => id))).toEqual([["c", "d"], ["b"]]);
    expect(rest.cursor).toBeNull();
    for (const cursor of [first.cursor ?? "", "nonsense", ""])
      await expect(tasks.list({ order: "priority", cursor })).rejects.toMatchObject({ code: "CURSOR_INVALID" });
  });

  test("tasks of processes are found by element and process, and one of an earlier version by its old search key", async () => {
    const { bpmn, engine, world, ids } = await desk();
    const inside =
      '<startEvent id="s"/><userTask id="a" pawl:candidateGroups="g"/><userTask id="b"/><endEvent id="e"/>';
    await bpmn.deploy(documentOf(inside + flows("s -> a\na -> b\nb -> e")));
    for (const id of ["r1", "r2"]) await bpmn.start("p", {}, { id });
    await world.settle();
    await bpmn.tasks.complete("r1 a/task");
    await world.settle();
    expect(await ids({ process: "p", element: "b" })).toEqual(["r1 b/task"]);
    expect(await ids({ forUser: { id: "ann", groups: ["g"] } })).toEqual(["r1 b/task", "r2 a/task"]);
    const key = { kind: "task key", id: "group g r2 a/task" };
    const seen = await engine.documents.get(key.kind, key.id);
    if (seen === null) throw new Error("the task has no key");
    await engine.documents.revise(seen, { ...key, runId: seen.runId, value: "r2 a/task", attributes: seen.attributes });
    expect(await ids({ candidateGroup: "g" })).toEqual(["r2 a/task"]);
    expect(await ids({ candidateGroup: "g", order: "created" })).toEqual(["r2 a/task"]);
    await engine.cancel("r2");
    expect(await ids({ forUser: { id: "ann", groups: ["g"] } })).toEqual(["r1 b/task"]);
  });
});
