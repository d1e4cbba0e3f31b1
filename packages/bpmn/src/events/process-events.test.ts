import { memoryStore } from "pawl";
import { expect, onTestFinished, test } from "vitest";
import { type Bpmn, BpmnError, type ProcessEvent } from "../index.ts";
import { documentOf, flows } from "../testing/document.ts";
import { type Options, STORES, siteOf, TAKE_OVER } from "../testing/site.ts";
import { PROCESS_EVENT_NAMES } from "./process-events.ts";

async function site(options: Options = {}) {
  const parts = await siteOf(memoryStore(), onTestFinished);
  return { ...parts, ...(await parts.open(options)) };
}

/** Collects every event of a run as text. */
function collected(bpmn: Bpmn): string[] {
  const found: string[] = [];
  for (const kind of PROCESS_EVENT_NAMES) bpmn.on(kind, (event) => void found.push(textOf(event)));
  return found;
}

function textOf(event: ProcessEvent): string {
  if (event.kind === "variable.updated") return `${event.kind} ${event.name}=${JSON.stringify(event.value)}`;
  if (event.kind === "task.assigned") return `${event.kind} ${event.task} ${event.assignee}`;
  return `${event.kind} ${event.element ?? (event as { readonly task: string }).task}`;
}

const model = (inside: string, text: string): string =>
  documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(text)}`);

test.each(STORES)(
  "every element of a run emits its start and end, in order, on the store '%s'",
  async (_name, openStore) => {
    const { open, world } = await siteOf(await openStore(onTestFinished), onTestFinished);
    const { bpmn } = await open({ handlers: { a: () => ({ n: 2 }) } });
    await bpmn.deploy(model('<serviceTask id="a"/><exclusiveGateway id="g"/>', "s -> a\na -> g\ng -> e"));
    const found = collected(bpmn);
    const run = await bpmn.start("p", { n: 1 });
    await world.settle();
    expect(await run.status()).toBe("completed");
    expect(found).toEqual([
      "node.started s",
      "node.completed s",
      "node.started a",
      "variable.updated n=2",
      "node.completed a",
      "node.started g",
      "node.completed g",
      "node.started e",
      "node.completed e",
    ]);
  },
);

test("a node has started before its handler ends, and has completed only after the commit of its record", async () => {
  const { bpmn, engine, world } = await site({
    handlers: {
      a: () => {
        order.push("handler");
        return {};
      },
    },
  });
  const order: string[] = [];
  await bpmn.deploy(model('<serviceTask id="a"/>', "s -> a\na -> e"));
  engine.on("record", ({ record }) => void order.push(`record ${record.location}`));
  bpmn.on("node.started", ({ element }) => void order.push(`started ${element}`));
  bpmn.on("node.completed", ({ element, output, row, type, process, version, at }) => {
    order.push(`completed ${element}`);
    if (element === "a")
      expect({ output, type, process, version }).toEqual({ output: {}, type: "serviceTask", process: "p", version: 1 });
    expect([row > 0, at > 0]).toEqual([true, true]);
  });
  await bpmn.start("p");
  await world.settle();
  expect(order).toEqual([
    "started s",
    "completed s",
    "started a",
    "handler",
    "record a/work",
    "completed a",
    "started e",
    "completed e",
  ]);
});

test("a failed node emits its failure and an incident, and its retry resolves the incident", async () => {
  let isDown = true;
  const a = () => {
    if (isDown) throw new Error("down");
  };
  const { bpmn, world } = await site({ handlers: { a }, retry: { maxAttempts: 1 } });
  await bpmn.deploy(model('<serviceTask id="a"/>', "s -> a\na -> e"));
  const run = await bpmn.start("p");
  await world.settle();
  const incidents: unknown[] = [];
  bpmn.on("incident.resolved", (event) => void incidents.push(event));
  const found = collected(bpmn);
  isDown = false;
  await bpmn.operate.retryIncidents([run.id]);
  await world.settle();
  expect(found.slice(0, 2)).toEqual(["incident.resolved a", "node.completed a"]);
  expect(incidents).toMatchObject([{ runId: run.id, process: "p", version: 1, element: "a", type: "serviceTask" }]);
  isDown = true;
  await bpmn.start("p");
  await world.settle();
  expect(found.slice(-3)).toEqual(["node.started a", "node.failed a", "incident.created a"]);
});

test("an operator's skip, an interruption, and an error of the model have events of their own", async () => {
  const a = () => {
    throw new BpmnError("NO");
  };
  const { bpmn, world } = await site({ handlers: { a } });
  const late = "<timerEventDefinition><timeDuration>PT1M</timeDuration></timerEventDefinition>";
  await bpmn.deploy(
    model(
      `<userTask id="u"/><serviceTask id="a"/><userTask id="v"/><boundaryEvent id="no" attachedToRef="a"><errorEventDefinition/></boundaryEvent>
       <boundaryEvent id="late" attachedToRef="v">${late}</boundaryEvent>`,
      "s -> u\nu -> a\na -> e\nno -> v\nv -> e\nlate -> e",
    ),
  );
  const run = await bpmn.start("p");
  await world.settle();
  const found = collected(bpmn);
  await bpmn.operate.skip(run.id, (await bpmn.view(run.id)).currentNodes[0]?.row ?? 0, { x: 1 });
  await world.settle();
  await world.advance(60_000);
  await world.settle();
  expect(await run.status()).toBe("completed");
  expect(found.filter((each) => !each.includes(" e"))).toEqual([
    "task.cancelled u",
    "variable.updated x=1",
    "node.skipped u",
    "node.started a",
    "node.failed a",
    "node.started no",
    "node.completed no",
    "node.started v",
    "task.created v",
    "task.cancelled v",
    "node.terminated v",
    "node.started late",
    "node.completed late",
  ]);
});

test("tasks emit their creation, each new assignee, their due date and their end, inside of processes and outside", async () => {
  const { bpmn, world } = await site();
  const people = 'pawl:assignee="ann" pawl:dueDate="PT1H"';
  await bpmn.deploy(model(`<userTask id="u" ${people}/>`, "s -> u\nu -> e"));
  const found: string[] = [];
  for (const kind of ["created", "assigned", "completed", "cancelled", "overdue"] as const)
    bpmn.on(`task.${kind}`, (event) => void found.push(textOf(event)));
  await bpmn.start("p", {}, { id: "r" });
  await world.settle();
  const [task] = (await bpmn.tasks.list()).items;
  const id = task?.id ?? "";
  await bpmn.tasks.delegate(id, "bob", { by: "ann" });
  await world.advance(3_600_000);
  await world.settle();
  await bpmn.tasks.complete(id, {}, { by: "bob" });
  await world.settle();
  expect(found).toEqual([
    "task.created u",
    `task.assigned ${id} ann`,
    `task.assigned ${id} bob`,
    "task.overdue u",
    "task.completed u",
  ]);
  found.length = 0;
  await bpmn.tasks.create({ id: "t", name: "call", assignee: "cid" });
  await bpmn.tasks.cancel("t");
  expect(found).toEqual(["task.created t", "task.assigned t cid", "task.cancelled t"]);
});

test("a run that fails with open elements ends each of them", async () => {
  const { bpmn, world } = await site();
  await bpmn.deploy(
    model(
      `<parallelGateway id="g"/><userTask id="u"/><userTask id="v"/><endEvent id="x"><errorEventDefinition/></endEvent>`,
      "s -> g\ng -> u\ng -> v\nu -> x\nv -> e",
    ),
  );
  const run = await bpmn.start("p");
  await world.settle();
  const found = collected(bpmn);
  await bpmn.completeTask(run.id, "u/task");
  await world.settle();
  expect(await run.status()).toBe("failed");
  expect(found).toEqual(expect.arrayContaining(["task.cancelled v", "node.terminated v"]));
  expect(found.filter((each) => each.startsWith("node.terminated"))).toEqual(["node.terminated v"]);
});

test("a replay emits nothing again, and another engine continues with the next event", async () => {
  const { bpmn, open, process, world } = await site({ handlers: { a: () => ({}) } });
  await bpmn.deploy(model('<serviceTask id="a"/><userTask id="u"/>', "s -> a\na -> u\nu -> e"));
  const run = await bpmn.start("p");
  await world.settle();
  process.crash();
  const other = await open();
  const found = collected(other.bpmn);
  await world.advance(TAKE_OVER);
  await other.engine.send(run.id, "bpmn task u/task", { variables: {} });
  await world.settle();
  expect(await other.engine.run(run.id).status()).toBe("completed");
  expect(found).toEqual(["task.completed u", "node.completed u", "node.started e", "node.completed e"]);
});

test("a listener that throws is logged, and neither the run nor other listeners notice", async () => {
  const { bpmn, log, world } = await site({ handlers: { a: () => ({}) } });
  await bpmn.deploy(model('<serviceTask id="a"/>', "s -> a\na -> e"));
  const found: string[] = [];
  bpmn.on("node.started", () => {
    throw new Error("no pager");
  });
  bpmn.on("node.started", ({ element }) => void found.push(element));
  const run = await bpmn.start("p");
  await world.settle();
  expect(await run.status()).toBe("completed");
  expect(found).toEqual(["s", "a", "e"]);
  expect(JSON.stringify(log)).toContain("no pager");
});

test("a listener that has ended receives nothing, and values that it keeps are copies", async () => {
  const { bpmn, world } = await site({ handlers: { a: () => ({ list: [1] }) } });
  await bpmn.deploy(model('<serviceTask id="a"/><userTask id="u"/>', "s -> a\na -> u\nu -> e"));
  const values: { readonly value: number[] }[] = [];
  const stop = bpmn.on("variable.updated", ({ value }) => {
    (value as number[]).push(2);
    values.push({ value: value as number[] });
  });
  const run = await bpmn.start("p");
  await world.settle();
  expect((await bpmn.view(run.id)).variables).toEqual({ list: [1] });
  stop();
  await bpmn.completeTask(run.id, "u/task", { list: [] });
  await world.settle();
  expect(values).toEqual([{ value: [1, 2] }]);
});

test("an unknown kind of event, and a listener that is no function, are rejected", async () => {
  const { bpmn } = await site();
  expect(() => bpmn.on("node.begun" as never, () => undefined)).toThrow(
    expect.objectContaining({ code: "OPTION_INVALID" }),
  );
  expect(() => bpmn.on("node.started", "x" as never)).toThrow(expect.objectContaining({ code: "OPTION_INVALID" }));
});
