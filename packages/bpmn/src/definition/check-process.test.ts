import { describe, expect, test } from "vitest";
import { documentOf, flows } from "../testing/document.ts";
import { problemsOf } from "./problem.ts";
import { readBpmn } from "./read-bpmn.ts";

/** Structural problems that prevent a deployment. */

async function problemsIn(inside: string, beside = ""): Promise<readonly string[]> {
  const error = await readBpmn(documentOf(inside, beside)).catch((reason: unknown) => reason);
  return problemsOf(error).map(({ element, text }) => `${element}: ${text}`);
}

describe("elements that nothing leads to", () => {
  const unreached = (id: string): string => `${id}: nothing leads to the element; connect it, or remove it`;

  test("each disconnected part of a model is one problem, at its first element", async () => {
    const inside =
      '<startEvent id="s"/><task id="a"/><task id="b"/><task id="c"/><task id="d"/><task id="x"/><task id="y"/>';
    expect(await problemsIn(`${inside}${flows("s -> a\nb -> c\nc -> d\nx -> y\ny -> x")}`)).toEqual([
      unreached("b"),
      unreached("x"),
    ]);
  });

  test("a disconnected element in a sub-process with a start event is a problem", async () => {
    const sub = `<subProcess id="p1"><startEvent id="i"/><task id="a"/><task id="b"/>${flows("i -> a")}</subProcess>`;
    expect(await problemsIn(`<startEvent id="s"/>${sub}${flows("s -> p1")}`)).toEqual([unreached("b")]);
  });

  test("elements that get a token without a flow are reached", async () => {
    const inside = `<startEvent id="s"/><userTask id="a"/><boundaryEvent id="x" attachedToRef="a"><errorEventDefinition/></boundaryEvent><task id="b"/>
      <boundaryEvent id="y" attachedToRef="a"><compensateEventDefinition/></boundaryEvent><task id="undo" isForCompensation="true"/>
      <association sourceRef="y" targetRef="undo"/><intermediateThrowEvent id="l1"><linkEventDefinition name="L"/></intermediateThrowEvent>
      <intermediateCatchEvent id="l2"><linkEventDefinition name="L"/></intermediateCatchEvent><task id="c"/>
      <subProcess id="h" triggeredByEvent="true"><startEvent id="hs"><messageEventDefinition/></startEvent><task id="ht"/>${flows("hs -> ht")}</subProcess>
      <adHocSubProcess id="ad"><task id="one"/><task id="two"/></adHocSubProcess><receiveTask id="r" instantiate="true"/>`;
    expect(await problemsIn(`${inside}${flows("s -> a\nx -> b\na -> l1\nl2 -> c\nc -> ad")}`)).toEqual([]);
  });
});

describe("quantities", () => {
  test.each([
    ['<userTask id="a" startQuantity="0"/>', "a: startQuantity is 0; it must be at least 1"],
    ['<userTask id="a" completionQuantity="-1"/>', "a: completionQuantity is -1; it must be at least 1"],
    [
      '<userTask id="a"><standardLoopCharacteristics loopMaximum="0"/></userTask>',
      "a: loopMaximum is 0; it must be an integer of at least 1",
    ],
    [
      '<userTask id="a"><standardLoopCharacteristics loopMaximum="x"/></userTask>',
      "a: loopMaximum is NaN; it must be an integer of at least 1",
    ],
  ])("a quantity below 1 is a problem: %s", async (task, problem) => {
    expect(await problemsIn(`<startEvent id="s"/>${task}${flows("s -> a")}`)).toEqual([problem]);
  });
});
