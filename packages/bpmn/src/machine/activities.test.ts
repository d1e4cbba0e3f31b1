import { describe, expect, test } from "vitest";
import { documentOf, flows } from "../testing/document.ts";
import { MachineBench } from "../testing/machine-bench.ts";

async function bench(inside: string, flowText: string, beside = ""): Promise<MachineBench> {
  return await MachineBench.of(documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(flowText)}`, beside));
}

const PLAIN = "s -> a\na -> e";

describe("tasks", () => {
  test("the result of a task's handler becomes process variables, and mappings select inputs and outputs", async () => {
    const one = await bench('<serviceTask id="a"/>', PLAIN);
    one.start({ x: 1 });
    expect(one.issued).toMatchObject([{ kind: "work" }]);
    expect(one.seen).toEqual([{ x: 1 }]);
    expect(one.done("a", { y: 2 }).ending).toEqual({ kind: "completed", variables: { x: 1, y: 2 } });
    const mapped = await bench(
      `<serviceTask id="a"><extensionElements><pawl:ioMapping>
         <pawl:input source="x + 1" target="n"/><pawl:output source="r * 2" target="doubled"/>
       </pawl:ioMapping></extensionElements></serviceTask>`,
      PLAIN,
    );
    mapped.start({ x: 1 });
    expect(mapped.seen).toEqual([{ x: 1, n: 2 }]);
    expect(mapped.done("a", { r: 21 }).ending).toEqual({ kind: "completed", variables: { x: 1, doubled: 42 } });
  });

  test("a task that fails finally is an incident, which an operator can retry or skip with a result", async () => {
    const one = await bench('<serviceTask id="a"/>', PLAIN);
    one.start().fails("a", "down");
    expect(one.incidents).toEqual([["a", "failed"]]);
    expect(one.ending).toBe(null);
    one.happens({ kind: "retry", row: one.rowOf("a") });
    expect(one.open("work")).toEqual(["a/work#2"]);
    one.fails("a").happens({ kind: "skip", row: one.rowOf("a"), variables: { y: 1 } });
    expect(one.ending).toEqual({ kind: "completed", variables: { y: 1 } });
  });

  test("an uncaught BPMN error of a task is an incident, and error events do not catch technical failures", async () => {
    const inside =
      '<serviceTask id="a"/><boundaryEvent id="x" attachedToRef="a"><errorEventDefinition errorRef="E"/></boundaryEvent>';
    const error = '<error id="E" errorCode="LATE"/>';
    const failing = await bench(inside, `${PLAIN}\nx -> e`, error);
    expect(failing.start().fails("a").incidents).toEqual([["a", "failed"]]);
    const other = await bench(inside, `${PLAIN}\nx -> e`, error);
    expect(other.start().throws("a", "OTHER").incidents).toEqual([["a", "uncaughtError"]]);
    const caught = await bench(inside, `${PLAIN}\nx -> e`, error);
    expect(caught.start().throws("a", "LATE", { days: 2 }).ending).toEqual({
      kind: "completed",
      variables: { days: 2 },
    });
  });

  test("a task with conditional flows takes every met flow, or the default flow if none is met", async () => {
    const text = "s -> a\na -[x = 1]-> b\na -d-> c\na -> z\nb -> e\nc -> e\nz -> e";
    const inside = '<serviceTask id="a" default="d"/><userTask id="b"/><userTask id="c"/><userTask id="z"/>';
    expect((await bench(inside, text)).start({ x: 1 }).done("a").active).toEqual(["b", "z"]);
    expect((await bench(inside, text)).start({ x: 2 }).done("a").active).toEqual(["c", "z"]);
  });

  test("a task with a start quantity starts after that many tokens have arrived", async () => {
    const one = await bench(
      '<serviceTask id="a" completionQuantity="3"/><userTask id="b" startQuantity="2"/>',
      "s -> a\na -> b\nb -> e",
    );
    expect(one.start().done("a").active).toEqual(["b"]);
  });

  test("a variable named __proto__ does not reach the prototype", async () => {
    const one = await bench('<serviceTask id="a"/>', PLAIN);
    one.start().done("a", JSON.parse('{"__proto__": {"polluted": true}, "constructor": 1}'));
    expect(({} as { polluted?: boolean }).polluted).toBe(undefined);
    expect(Object.keys(one.ending?.kind === "completed" ? one.ending.variables : {})).toContain("constructor");
  });
});

describe("multi-instance activities", () => {
  const multi = (attributes: string, inside: string): string =>
    `<serviceTask id="a"><multiInstanceLoopCharacteristics ${attributes}>
       <extensionElements><pawl:loopCharacteristics inputCollection="= items" inputElement="item" outputCollection="out" outputElement="= r"/></extensionElements>
       ${inside}</multiInstanceLoopCharacteristics></serviceTask>`;

  test("a parallel multi-instance activity collects outputs in the order of the items, not of completion", async () => {
    const one = await bench(multi("", ""), PLAIN);
    one.start({ items: ["x", "y", "z"] });
    expect(one.seen.map(({ item }) => item)).toEqual(["x", "y", "z"]);
    const [x, y, z] = one.open("work");
    for (const [location, r] of [
      [z, 3],
      [x, 1],
      [y, 2],
    ] as const) {
      expect(one.ending).toBe(null);
      one.happens({ kind: "completed", location: location ?? "", variables: {}, value: { r } });
    }
    expect(one.ending).toMatchObject({ kind: "completed", variables: { out: [1, 2, 3] } });
  });

  test("a sequential multi-instance activity starts the next instance when the previous one has completed", async () => {
    const one = await bench(multi('isSequential="true"', ""), PLAIN);
    one.start({ items: [1, 2] });
    expect(one.open("work")).toHaveLength(1);
    one.done("a", { r: 1 });
    expect(one.open("work")).toHaveLength(1);
    expect(one.done("a", { r: 2 }).ending).toMatchObject({ variables: { out: [1, 2] } });
  });

  test("a multi-instance activity ends when its completion condition is met, and at once for an empty list", async () => {
    const condition = "<completionCondition>numberOfCompletedInstances >= 2</completionCondition>";
    const one = await bench(multi("", condition), PLAIN);
    one
      .start({ items: [1, 2, 3, 4] })
      .done("a", { r: 1 })
      .done("a", { r: 2 });
    expect(one.ending).toMatchObject({ kind: "completed", variables: { out: [1, 2, null, null] } });
    expect(one.cancelled).toHaveLength(2);
    const none = await bench(multi("", ""), PLAIN);
    expect(none.start({ items: [] }).ending).toMatchObject({ kind: "completed", variables: { out: [] } });
  });

  test("a multi-instance activity over a value that is not a list is an incident", async () => {
    const one = await bench(multi("", ""), PLAIN);
    expect(one.start({ items: 7 }).incidents).toEqual([["a", "invalid"]]);
  });

  test("an interrupting boundary event cancels all instances of a multi-instance activity, without output", async () => {
    const one = await bench(
      `${multi("", "")}<boundaryEvent id="x" attachedToRef="a"><errorEventDefinition/></boundaryEvent>`,
      `${PLAIN}\nx -> e`,
    );
    one
      .start({ items: [1, 2, 3] })
      .done("a", { r: 1 })
      .throws("a", "NO");
    expect(one.ending).toEqual({ kind: "completed", variables: { items: [1, 2, 3] } });
  });

  test("a standard loop repeats while its condition is met, at most its maximum times", async () => {
    const loop = (attributes: string): string =>
      `<serviceTask id="a"><standardLoopCharacteristics ${attributes}><loopCondition>n &lt; 3</loopCondition></standardLoopCharacteristics></serviceTask>`;
    const one = await bench(loop(""), PLAIN);
    one.start({ n: 0 }).done("a", { n: 1 }).done("a", { n: 2 });
    expect(one.ending).toBe(null);
    expect(one.done("a", { n: 3 }).ending?.kind).toBe("completed");
    expect((await bench(loop('testBefore="true"'), PLAIN)).start({ n: 5 }).ending?.kind).toBe("completed");
    expect((await bench(loop('loopMaximum="1"'), PLAIN)).start({ n: 0 }).done("a").ending?.kind).toBe("completed");
  });
});

describe("ad-hoc sub-processes", () => {
  const adHoc = (attributes: string, condition = ""): string =>
    `<adHocSubProcess id="a" ${attributes}><serviceTask id="x"/><serviceTask id="y"/>${condition}</adHocSubProcess>`;

  test("an ad-hoc sub-process executes all elements without incoming flows, in parallel or in sequence", async () => {
    const both = await bench(adHoc('ordering="Parallel"'), PLAIN);
    expect(both.start().active).toEqual(["a", "x", "y"]);
    expect(both.done("x").done("y").ending?.kind).toBe("completed");
    const inTurn = await bench(adHoc('ordering="Sequential"'), PLAIN);
    expect(inTurn.start().active).toEqual(["a", "x"]);
    expect(inTurn.done("x").active).toEqual(["a", "y"]);
    expect(inTurn.done("y").ending?.kind).toBe("completed");
  });

  test("an ad-hoc sub-process ends when its completion condition is met", async () => {
    const condition = "<completionCondition>enough</completionCondition>";
    const one = await bench(adHoc('ordering="Parallel"', condition), PLAIN);
    expect(one.start({ enough: false }).done("x", { enough: true }).ending?.kind).toBe("completed");
  });
});
