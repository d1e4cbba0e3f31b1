import { describe, expect, test } from "vitest";
import { documentOf, flows } from "../testing/document.ts";
import { MachineBench } from "../testing/machine-bench.ts";

async function bench(inside: string, flowText: string, beside = ""): Promise<MachineBench> {
  return await MachineBench.of(documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(flowText)}`, beside));
}

const timer = (kind: string, text: string): string =>
  `<timerEventDefinition><time${kind}>${text}</time${kind}></timerEventDefinition>`;
const SIGNAL = '<signal id="S" name="go"/>';
const signal = '<signalEventDefinition signalRef="S"/>';
const compensate = "<compensateEventDefinition/>";

describe("an event on the edge of an activity", () => {
  const PLAIN = "s -> a\na -> e\nx -> b\nb -> e";

  test("that interrupts ends the activity and all in it, and its own flow goes on", async () => {
    const one = await bench(
      `<subProcess id="a"><userTask id="i"/><serviceTask id="k"/></subProcess><userTask id="b"/>
       <boundaryEvent id="x" attachedToRef="a">${timer("Duration", "PT1H")}</boundaryEvent>`,
      PLAIN,
    );
    one.start();
    expect(one.active).toEqual(["a", "i", "k"]);
    one.comes("x");
    expect(one.active).toEqual(["b"]);
    expect([...one.cancelled].sort()).toEqual(["i/task", "k/work"]);
  });

  test("that does not interrupt lets it go on, as often as it comes", async () => {
    const one = await bench(
      `<userTask id="a"/><userTask id="b"/>
       <boundaryEvent id="x" attachedToRef="a" cancelActivity="false">${timer("Cycle", "R2/PT1H")}</boundaryEvent>`,
      PLAIN,
    );
    const begun = one.at;
    one.start();
    one.at = begun + 3_600_500;
    one.comes("x");
    expect(one.state.commands).toContainEqual({ kind: "timer", location: "x#2", dueAt: begun + 7_200_000 });
    one.comes("x#2");
    expect(one.active).toEqual(["a", "b", "b"]);
    expect(one.open("timer")).toEqual([]);
  });

  test("that was too late changes nothing", async () => {
    const one = await bench(
      `<userTask id="a"/><userTask id="b"/><boundaryEvent id="x" attachedToRef="a">${timer("Duration", "PT1H")}</boundaryEvent>`,
      PLAIN,
    );
    one.start();
    const location = one.locationOf("x");
    one.done("a");
    expect(one.ending?.kind).toBe("completed");
    one.happens({ kind: "completed", location, variables: {}, value: null });
    expect(one.active).toEqual([]);
  });

  test("catches an error of its own code before one for all, and the nearest scope's before an outer one's", async () => {
    const one = await bench(
      `<subProcess id="a"><serviceTask id="i"/><boundaryEvent id="n" attachedToRef="i"><errorEventDefinition errorRef="O"/></boundaryEvent></subProcess>
       <userTask id="b"/><userTask id="c"/>
       <boundaryEvent id="x" attachedToRef="a"><errorEventDefinition/></boundaryEvent>
       <boundaryEvent id="y" attachedToRef="a"><errorEventDefinition errorRef="E"/></boundaryEvent>`,
      `${PLAIN}\ny -> c\nc -> e`,
      '<error id="E" errorCode="E1"/><error id="O" errorCode="O1"/>',
    );
    expect(one.start().throws("i", "E1").active).toEqual(["c"]);
  });
});

describe("an event sub-process", () => {
  const inside = (attributes: string): string =>
    `<subProcess id="a"><startEvent id="as"/><userTask id="i"/>${flows("as -i1-> i")}
       <subProcess id="x" triggeredByEvent="true"><startEvent id="xs" ${attributes}>${signal}</startEvent><userTask id="h"/>${flows("xs -x1-> h")}</subProcess>
     </subProcess><userTask id="b"/>`;

  test("that interrupts ends all else in its scope; when it is done the scope is done, as if by itself", async () => {
    const one = await bench(inside(""), "s -> a\na -> b\nb -> e", SIGNAL);
    one.start().comes("xs", { why: "late" });
    expect(one.active).toEqual(["a", "h", "x"]);
    expect(one.open("signal")).toEqual([]);
    expect(one.done("h").active).toEqual(["b"]);
    expect(one.variables).toEqual({ why: "late" });
  });

  test("that does not interrupt runs beside, any number of times, and the scope waits for it", async () => {
    const one = await bench(inside('isInterrupting="false"'), "s -> a\na -> b\nb -> e", SIGNAL);
    one.start().comes("xs").comes("xs#2");
    expect(one.active).toEqual(["a", "h", "h", "i", "x", "x"]);
    one.done("i").done("h");
    expect(one.active).toEqual(["a", "h", "x"]);
    expect(one.done("h").active).toEqual(["b"]);
  });
});

describe("a signal", () => {
  const catching = `<intermediateCatchEvent id="c">${signal}</intermediateCatchEvent>`;
  const throwing = `<intermediateThrowEvent id="t">${signal}</intermediateThrowEvent>`;

  test("is heard by all of the instance who wait when everything has come to rest, and goes out to others", async () => {
    const one = await bench(
      `<parallelGateway id="f"/>${throwing}${catching}<userTask id="b"/>`,
      "s -> f\nf -> t\nf -> c\nt -> e\nc -> b\nb -> e",
      SIGNAL,
    );
    one.start({ n: 1 });
    expect(one.active).toEqual(["b"]);
    expect(one.asked.filter(({ kind }) => kind === "broadcast")).toMatchObject([{ name: "go", variables: { n: 1 } }]);
    expect(one.asked.filter(({ kind }) => kind === "signal")).toEqual([]);
  });

  test("of the instance's own that comes back to it is not heard twice", async () => {
    const one = await bench(`${throwing}<userTask id="w"/>${catching}`, "s -> c\nc -> e", SIGNAL);
    one.start();
    one.happens({ kind: "ownSignal", location: one.locationOf("c") });
    expect(one.active).toContain("c");
    one.comes("c");
    expect(one.active).not.toContain("c");
  });
});

describe("a condition", () => {
  test("is met when a change of variables makes it so", async () => {
    const one = await bench(
      `<parallelGateway id="f"/><serviceTask id="a"/><intermediateCatchEvent id="c"><conditionalEventDefinition><condition>x > 1</condition></conditionalEventDefinition></intermediateCatchEvent>`,
      "s -> f\nf -> a\nf -> c\na -> e\nc -> e",
    );
    one.start({ x: 0 });
    expect(one.active).toEqual(["a", "c"]);
    one.done("a", { x: 2 });
    expect(one.ending?.kind).toBe("completed");
  });

  test("on an edge that does not interrupt counts each time it becomes true, not as long as it is", async () => {
    const one = await bench(
      `<userTask id="a"/><userTask id="b"/><boundaryEvent id="x" attachedToRef="a" cancelActivity="false"><conditionalEventDefinition><condition>x > 1</condition></conditionalEventDefinition></boundaryEvent>`,
      "s -> a\na -> e\nx -> b\nb -> e",
    );
    one.start({ x: 0 });
    for (const x of [2, 3, 0, 5]) one.happens({ kind: "setVariables", row: null, variables: { x } });
    expect(one.active).toEqual(["a", "b", "b"]);
  });
});

describe("the end of a process", () => {
  test("comes when nothing is left, not with the first end event; terminate ends its own scope alone", async () => {
    const inside = `<parallelGateway id="f"/><userTask id="a"/><userTask id="b"/><endEvent id="z"><terminateEventDefinition/></endEvent>`;
    const text = "s -> f\nf -> a\nf -> b\na -> e\nb -> z";
    const one = await bench(inside, text);
    expect(one.start().done("a").ending).toBe(null);
    const other = await bench(inside, text);
    other.start().done("b");
    expect(other.ending?.kind).toBe("completed");
    expect(other.cancelled).toEqual(["a/task"]);
    const nested = await bench(
      `<subProcess id="q"><startEvent id="qs"/><parallelGateway id="f"/><userTask id="a"/><endEvent id="z"><terminateEventDefinition/></endEvent>${flows("qs -q1-> f\nf -q2-> a\nf -q3-> z")}</subProcess><userTask id="b"/>`,
      "s -> q\nq -> b\nb -> e",
    );
    expect(nested.start().active).toEqual(["b"]);
  });

  test("by an error that nobody catches is a failure with its code", async () => {
    const one = await bench(
      '<endEvent id="x"><errorEventDefinition errorRef="E"/></endEvent>',
      "s -> x",
      '<error id="E" errorCode="E1"/>',
    );
    expect(one.start().ending).toMatchObject({ kind: "failed", code: "E1" });
  });
});

describe("compensation", () => {
  const undoable = (id: string): string =>
    `<serviceTask id="${id}"/><boundaryEvent id="${id}x" attachedToRef="${id}">${compensate}</boundaryEvent>
     <serviceTask id="${id}u" isForCompensation="true"/><association id="${id}l" sourceRef="${id}x" targetRef="${id}u"/>`;

  test("undoes what has completed, newest first, one after the other, each once", async () => {
    const one = await bench(
      `${undoable("a")}${undoable("b")}<intermediateThrowEvent id="t">${compensate}</intermediateThrowEvent><intermediateThrowEvent id="t2">${compensate}</intermediateThrowEvent>`,
      "s -> a\na -> b\nb -> t\nt -> t2\nt2 -> e",
    );
    one.start().done("a").done("b");
    expect(one.open("work")).toEqual(["bu/work"]);
    one.done("bu");
    expect(one.open("work")).toEqual(["au/work"]);
    expect(one.done("au").ending?.kind).toBe("completed");
  });

  test("of one activity leaves the others; of a sub-process it undoes what was done in it, with its variables", async () => {
    const one = await bench(
      `<subProcess id="q">${undoable("a")}</subProcess>${undoable("b")}
       <intermediateThrowEvent id="t"><compensateEventDefinition activityRef="q"/></intermediateThrowEvent>`,
      "s -> q\nq -> b\nb -> t\nt -> e",
    );
    one.start().done("a", { y: 1 }).done("b");
    expect(one.open("work")).toEqual(["au/work"]);
    expect(one.done("au").ending?.kind).toBe("completed");
  });

  test("of a transaction that is cancelled comes before its cancel event", async () => {
    const one = await bench(
      `<transaction id="q"><startEvent id="qs"/>${undoable("a")}<endEvent id="c"><cancelEventDefinition/></endEvent>${flows("qs -q1-> a\na -q2-> c")}</transaction>
       <boundaryEvent id="x" attachedToRef="q"><cancelEventDefinition/></boundaryEvent><userTask id="b"/><userTask id="n"/>`,
      "s -> q\nq -> n\nn -> e\nx -> b\nb -> e",
    );
    one.start().done("a");
    expect(one.open("work")).toEqual(["au/work"]);
    expect(one.done("au").active).toEqual(["b"]);
  });
});

describe("an operator", () => {
  const PLAIN = "s -> a\na -> b\nb -> e";

  test("moves a token, cancels one, adds one; what does not apply changes nothing", async () => {
    const one = await bench('<userTask id="a"/><userTask id="b"/>', PLAIN);
    one.start().happens({ kind: "moveToken", row: one.rowOf("a"), to: "b" });
    expect(one.active).toEqual(["b"]);
    expect(one.cancelled).toEqual(["a/task"]);
    one.happens({ kind: "moveToken", row: one.rowOf("b"), to: "nowhere" }).happens({ kind: "cancelToken", row: 99 });
    expect(one.active).toEqual(["b"]);
    one.happens({ kind: "addToken", to: "a", variables: { x: 1 } });
    expect(one.active).toEqual(["a", "b"]);
    one.happens({ kind: "cancelToken", row: one.rowOf("a") });
    expect(one.active).toEqual(["b"]);
    expect(one.done("b").ending).toEqual({ kind: "completed", variables: { x: 1 } });
  });
});

test("a model that turns in a circle without ever waiting is ended, not the machine", async () => {
  const one = await bench('<task id="a"/><exclusiveGateway id="g"/>', "s -> g\ng -> a\na -> g");
  expect(one.start().ending).toMatchObject({ kind: "failed" });
});
