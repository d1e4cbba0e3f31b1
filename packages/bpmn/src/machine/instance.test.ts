import { expect, test } from "vitest";
import { readBpmn } from "../definition/read-bpmn.ts";
import { evaluateExpression } from "../expressions.ts";
import { documentOf, flows } from "../testing/document.ts";
import { Instance } from "./advance.ts";
import type { Command, State } from "./state.ts";

const ENVIRONMENT = { evaluate: evaluateExpression, isCalled: false };

async function startedInstance(inside: string, flowText: string, variables: Readonly<Record<string, unknown>> = {}) {
  const [process] = await readBpmn(documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(flowText)}`));
  if (process === undefined) throw new Error("process not found");
  const instance = new Instance(process, ENVIRONMENT);
  instance.apply({ kind: "started", at: 0, variables, startedBy: null });
  return { process, instance };
}

function placesOf({ commands }: State, kind: Command["kind"]): readonly string[] {
  return commands.filter((command) => command.kind === kind).map(({ location }) => location);
}

function rowOf({ rows }: State, element: string): number {
  return rows.find((row) => row.element === element)?.id ?? 0;
}

test("a sent message keeps the variables of its sending time when the instance changes them later", async () => {
  const { process, instance } = await startedInstance(
    '<intermediateThrowEvent id="m"><messageEventDefinition/></intermediateThrowEvent><userTask id="a"/>',
    "s -> m\nm -> a\na -> e",
    { x: 1 },
  );
  const stored = instance.state;
  const change = { kind: "setVariables", at: 1, row: null, variables: { x: 2 } } as const;
  instance.apply(change);
  expect(instance.state.commands).toMatchObject([{ variables: { x: 1 } }, { variables: { x: 1 } }, { kind: "task" }]);
  const rebuilt = new Instance(process, ENVIRONMENT, stored);
  rebuilt.apply(change);
  expect(instance.state).toEqual(rebuilt.state);
});

test("partially collected outputs are valid JSON in any order of completion", async () => {
  const many = `<serviceTask id="a"><multiInstanceLoopCharacteristics><extensionElements>
      <pawl:loopCharacteristics outputCollection="out" outputElement="= r"/></extensionElements>
    <loopCardinality>3</loopCardinality></multiInstanceLoopCharacteristics></serviceTask>`;
  const { instance } = await startedInstance(many, "s -> a\na -> e");
  const last = placesOf(instance.state, "work").at(-1) ?? "";
  instance.apply({ kind: "completed", at: 1, location: last, variables: {}, value: { r: 9 } });
  const [body] = instance.state.rows.filter(({ role }) => role.kind === "loop");
  expect(body?.role).toStrictEqual(JSON.parse(JSON.stringify(body?.role)));
});

test("retrying the work of an activity keeps its boundary timers", async () => {
  const { instance } = await startedInstance(
    `<serviceTask id="a"/><boundaryEvent id="x" attachedToRef="a" cancelActivity="false">
       <timerEventDefinition><timeCycle>R2/PT1M</timeCycle></timerEventDefinition></boundaryEvent>`,
    "s -> a\na -> e\nx -> e",
  );
  instance.apply({ kind: "failed", at: 5_000, location: "a/work", message: "no", reason: "failed" });
  const { commands } = instance.state;
  instance.apply({ kind: "retry", at: 9_000, row: rowOf(instance.state, "a") });
  expect(instance.state.commands).toMatchObject([...commands, { kind: "work", location: "a/work#2" }]);
  expect(instance.state.commands).toContainEqual({ kind: "timer", location: "x", dueAt: 60_000 });
});

test("one cancelled instance of a multi-instance transaction cancels all instances", async () => {
  const { instance } = await startedInstance(
    `<transaction id="q"><multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics>
       <startEvent id="qs"/><serviceTask id="a"/><endEvent id="c"><cancelEventDefinition/></endEvent>${flows("qs -q1-> a\na -q2-> c")}</transaction>
     <boundaryEvent id="x" attachedToRef="q"><cancelEventDefinition/></boundaryEvent><userTask id="b"/><userTask id="n"/>`,
    "s -> q\nq -> n\nn -> e\nx -> b\nb -> e",
  );
  const [location = ""] = placesOf(instance.state, "work");
  const { cancelled } = instance.apply({ kind: "completed", at: 1, location, variables: {}, value: {} });
  expect(cancelled).toEqual(["a#2/work"]);
  expect(placesOf(instance.state, "task")).toEqual(["b/task"]);
});

test("compensation in an event sub-process undoes its own and its scope's activities, newest first", async () => {
  const undoable = (id: string): string =>
    `<serviceTask id="${id}"/><boundaryEvent id="${id}x" attachedToRef="${id}"><compensateEventDefinition/></boundaryEvent>
     <serviceTask id="${id}u" isForCompensation="true"/><association id="${id}l" sourceRef="${id}x" targetRef="${id}u"/>`;
  const { instance } = await startedInstance(
    `${undoable("a")}<userTask id="w"/><subProcess id="h" triggeredByEvent="true">
       <startEvent id="hs" isInterrupting="false"><messageEventDefinition/></startEvent>${undoable("b")}<userTask id="t"/>
       <intermediateThrowEvent id="c"><compensateEventDefinition/></intermediateThrowEvent>${flows("hs -h1-> b\nb -h2-> t\nt -h3-> c")}</subProcess>`,
    "s -> a\na -> w\nw -> e",
  );
  for (const location of ["hs", "b/work", "a/work", "t/task"]) {
    instance.apply({ kind: "completed", at: 1, location, variables: {}, value: {} });
  }
  expect(placesOf(instance.state, "work")).toEqual(["au/work"]);
});

test("a scope that is checked twice at its end completes once and is compensated once", async () => {
  const { instance } = await startedInstance(
    `<subProcess id="q"><startEvent id="qs"/><userTask id="w"/>
       <boundaryEvent id="m" attachedToRef="w" cancelActivity="false"><messageEventDefinition/></boundaryEvent>
       <endEvent id="z"><terminateEventDefinition/></endEvent>${flows("qs -q1-> w\nm -q2-> z")}</subProcess>
     <boundaryEvent id="x" attachedToRef="q"><compensateEventDefinition/></boundaryEvent>
     <serviceTask id="u" isForCompensation="true"/><association id="l" sourceRef="x" targetRef="u"/>
     <intermediateThrowEvent id="c"><compensateEventDefinition/></intermediateThrowEvent>`,
    "s -> q\nq -> c\nc -> e",
  );
  for (const location of ["m", "u/work"]) {
    instance.apply({ kind: "completed", at: 1, location, variables: {}, value: {} });
  }
  expect(instance.state.completed.q).toBe(1);
  expect(instance.state.ending?.kind).toBe("completed");
});

test("no event sub-process of a transaction starts while it is being cancelled", async () => {
  const { instance } = await startedInstance(
    `<transaction id="q"><startEvent id="qs"/><serviceTask id="a"/><endEvent id="c"><cancelEventDefinition/></endEvent>
       <boundaryEvent id="ax" attachedToRef="a"><compensateEventDefinition/></boundaryEvent>
       <serviceTask id="u" isForCompensation="true"/><association id="l" sourceRef="ax" targetRef="u"/>
       <subProcess id="h" triggeredByEvent="true"><startEvent id="hs"><messageEventDefinition/></startEvent></subProcess>
       ${flows("qs -q1-> a\na -q2-> c")}</transaction>
     <boundaryEvent id="x" attachedToRef="q"><cancelEventDefinition/></boundaryEvent>`,
    "s -> q\nq -> e\nx -> e",
  );
  instance.apply({ kind: "completed", at: 1, location: "a/work", variables: {}, value: {} });
  expect(instance.state.commands.map(({ location }) => location)).toEqual(["u/work"]);
});
