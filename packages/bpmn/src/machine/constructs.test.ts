import { describe, expect, test } from "vitest";
import { documentOf, flows } from "../testing/document.ts";
import { MachineBench } from "../testing/machine-bench.ts";

/** One test for each construct, as the text of the standard has it. */

async function bench(inside: string, flowText: string, beside = ""): Promise<MachineBench> {
  const end = `${flowText}${inside}`.match(/> e|"e"/) ? '<endEvent id="e"/>' : "";
  return await MachineBench.of(documentOf(`<startEvent id="s"/>${end}${inside}${flows(flowText)}`, beside));
}

const MESSAGES = '<message id="m1" name="one"/><message id="m2" name="two"/>';
const message = (id: string): string => `<messageEventDefinition messageRef="${id}"/>`;
const terminate = "<terminateEventDefinition/>";
const compensate = (more = ""): string => `<compensateEventDefinition ${more}/>`;
const ERRORS = '<error id="E1" errorCode="one"/><error id="E2" errorCode="two"/>';
const ESCALATIONS = '<escalation id="X1" escalationCode="one"/><escalation id="X2" escalationCode="two"/>';
const error = (ref = ""): string => `<errorEventDefinition ${ref === "" ? "" : `errorRef="${ref}"`}/>`;
const escalation = (ref = ""): string => `<escalationEventDefinition ${ref === "" ? "" : `escalationRef="${ref}"`}/>`;
const link = (name: string): string => `<linkEventDefinition name="${name}"/>`;

describe("technical failures", () => {
  const CATCHES = '<errorEventDefinition pawl:catchFailures="true"/>';
  const fail = (one: MachineBench, location: string, reason: "failed" | "noHandler" | "call"): MachineBench =>
    one.happens({ kind: "failed", location, message: "out of paper", reason });

  test("an error boundary event catches a technical failure only if the model says so", async () => {
    const model = (definition: string): Promise<MachineBench> =>
      bench(
        `<serviceTask id="a"/><userTask id="b"/><boundaryEvent id="x" attachedToRef="a">${definition}</boundaryEvent>`,
        "s -> a\na -> e\nx -> b",
      );
    const plain = await model(error());
    expect(fail(plain.start(), "a/work", "failed").active).toEqual(["a"]);
    expect(plain.state.rows.find(({ element }) => element === "a")?.incident).toMatchObject({ kind: "failed" });
    const one = await model(CATCHES);
    expect(fail(one.start(), "a/work", "failed").active).toEqual(["b"]);
    expect(one.variables).toEqual({ error: { element: "a", message: "out of paper" } });
  });

  test("a missing handler is an incident although an error boundary event catches failures", async () => {
    const one = await bench(
      `<serviceTask id="a"/><boundaryEvent id="x" attachedToRef="a">${CATCHES}</boundaryEvent>`,
      "s -> a\na -> e\nx -> e",
    );
    expect(fail(one.start(), "a/work", "noHandler").active).toEqual(["a"]);
  });

  test("an event sub-process catches the failure of a called process, and of an instance of a loop", async () => {
    const inside = `<subProcess id="h" triggeredByEvent="true"><startEvent id="hs">${CATCHES}</startEvent><userTask id="b"/>
      ${flows("hs -> b")}</subProcess>`;
    const called = await bench(`<callActivity id="a" calledElement="other"/>${inside}`, "s -> a\na -> e");
    expect(fail(called.start(), "a/call", "call").active).toEqual(["b", "h"]);
    const loop =
      "<multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics>";
    const many = await bench(`<serviceTask id="a">${loop}</serviceTask>${inside}`, "s -> a\na -> e");
    const [first] = many.start().open("work");
    expect(fail(many, first ?? "", "failed").active).toEqual(["b", "h"]);
  });

  test("a value of catchFailures other than true and false is a problem", async () => {
    const model = bench(
      '<serviceTask id="a"/><boundaryEvent id="x" attachedToRef="a" pawl:catchFailures="yes"><errorEventDefinition/></boundaryEvent>',
      "s -> a\na -> e\nx -> e",
    );
    await expect(model).rejects.toThrow('catchFailures is "yes"; it must be true or false');
  });
});

describe("flows", () => {
  test("several outgoing flows of a task split its token, and several incoming flows do not join", async () => {
    const one = await bench(
      '<task id="a"/><task id="b"/><task id="c"/><userTask id="d"/>',
      "s -> a\na -> b\na -> c\nb -> d\nc -> d\nd -> e",
    );
    expect(one.start().active).toEqual(["d", "d"]);
    one.done("d").done("d");
    expect(one.ending).toMatchObject({ kind: "completed" });
  });

  test("an instance starts at one plain start event, the first of the model unless another one is chosen", async () => {
    const model = ['<startEvent id="s2"/><userTask id="a"/><userTask id="b"/>', "s -> a\ns2 -> b"] as const;
    expect((await bench(...model)).start().active).toEqual(["a"]);
    const startedBy = { element: "s2", variables: {} };
    expect((await bench(...model)).happens({ kind: "started", variables: {}, startedBy }).active).toEqual(["b"]);
  });

  test("a scope without start events starts at each element without incoming flows", async () => {
    const two = await bench(
      '<subProcess id="p1"><userTask id="a"/><userTask id="b"/></subProcess>',
      "s -> p1\np1 -> e",
    );
    expect(two.start().active).toEqual(["a", "b", "p1"]);
  });

  test("the condition of a default flow is ignored", async () => {
    const model = `<exclusiveGateway id="g" default="d"/><userTask id="a"/><userTask id="b"/>
      <sequenceFlow id="d" sourceRef="g" targetRef="b"><conditionExpression>false</conditionExpression></sequenceFlow>`;
    const one = await bench(model, "s -> g\ng -[x = 1]-> a");
    expect(one.start({ x: 2 }).active).toEqual(["b"]);
  });

  test("references to data types in other documents are accepted", async () => {
    const one = await bench(
      `<exclusiveGateway id="g"/><sequenceFlow id="f" sourceRef="g" targetRef="e"><conditionExpression xmlns:xsd="http://www.w3.org/2001/XMLSchema"
       xsi:type="tFormalExpression" evaluatesToTypeRef="xsd:boolean">true</conditionExpression></sequenceFlow>`,
      "s -> g",
      '<message id="m" name="one" itemRef="elsewhere:Order"/>',
    );
    expect(one.start().ending).toMatchObject({ kind: "completed" });
  });

  test("several throwing link events continue at the catching link of the same name in their scope", async () => {
    const thrown = (id: string): string => `<intermediateThrowEvent id="${id}">${link("L")}</intermediateThrowEvent>`;
    const one = await bench(
      `${thrown("t1")}${thrown("t2")}<intermediateCatchEvent id="c">${link("L")}</intermediateCatchEvent><userTask id="a"/>`,
      "s -> t1\ns -> t2\nc -> a\na -> e",
    );
    expect(one.start().active).toEqual(["a", "a"]);
  });
});

describe("ends", () => {
  test("a terminate event ends only its own sub-process, which then continues normally, or the whole process", async () => {
    const inner = `<subProcess id="p1"><startEvent id="i"/><userTask id="u"/><userTask id="w"/><endEvent id="t">${terminate}</endEvent>
      ${flows("i -> u\ni -> w\nu -> t")}</subProcess><userTask id="after"/><userTask id="beside"/>`;
    const one = await bench(inner, "s -> p1\np1 -> after\ns -> beside");
    one.start().done("u");
    expect(one.active).toEqual(["after", "beside"]);
    const two = await bench(
      `<userTask id="a"/><userTask id="b"/><endEvent id="t">${terminate}</endEvent>`,
      "s -> a\ns -> b\na -> t",
    );
    expect(two.start().done("a").ending).toMatchObject({ kind: "completed" });
  });

  test("a terminate event in one instance of a multi-instance sub-process ends only that instance", async () => {
    const one = await bench(
      `<subProcess id="p1"><multiInstanceLoopCharacteristics><loopCardinality>2</loopCardinality></multiInstanceLoopCharacteristics>
       <startEvent id="i"/><userTask id="u"/><userTask id="w"/><endEvent id="t">${terminate}</endEvent>
       ${flows("i -> u\ni -> w\nu -> t")}</subProcess><userTask id="after"/>`,
      "s -> p1\np1 -> after",
    );
    one.start().done("u");
    expect(one.active).toEqual(["p1", "p1", "u", "w"]);
    one.done("u");
    expect(one.active).toEqual(["after"]);
  });

  test("an error without a code is caught only by an error event without a code", async () => {
    const model = (caught: string): string =>
      `<subProcess id="p1"><startEvent id="i"/><endEvent id="t">${error()}</endEvent>${flows("i -> t")}</subProcess>
       <boundaryEvent id="x" attachedToRef="p1">${error(caught)}</boundaryEvent><userTask id="a"/>`;
    expect((await bench(model(""), "s -> p1\nx -> a", ERRORS)).start().active).toEqual(["a"]);
    expect((await bench(model("E1"), "s -> p1\nx -> a", ERRORS)).start().ending).toMatchObject({ kind: "failed" });
  });

  test("an escalation is caught by the nearest event with its code, and the thrower continues unless interrupted", async () => {
    const model = (cancels: boolean): string =>
      `<subProcess id="outer"><startEvent id="o"/><subProcess id="p1"><startEvent id="i"/>
         <intermediateThrowEvent id="t">${escalation("X2")}</intermediateThrowEvent><userTask id="u"/>${flows("i -> t\nt -> u")}
       </subProcess>${flows("o -> p1")}<boundaryEvent id="x1" attachedToRef="p1">${escalation("X1")}</boundaryEvent></subProcess>
       <boundaryEvent id="x2" attachedToRef="outer" cancelActivity="${cancels}">${escalation()}</boundaryEvent><userTask id="a"/>`;
    expect((await bench(model(false), "s -> outer\nx2 -> a", ESCALATIONS)).start().active).toEqual([
      "a",
      "outer",
      "p1",
      "u",
    ]);
    expect((await bench(model(true), "s -> outer\nx2 -> a", ESCALATIONS)).start().active).toEqual(["a"]);
  });
});

describe("escalations in event sub-processes", () => {
  const handler = `<subProcess id="h" triggeredByEvent="true"><startEvent id="hs" isInterrupting="false">${escalation()}</startEvent>
    <endEvent id="he">${escalation("X1")}</endEvent>${flows("hs -> he")}</subProcess>`;

  test("a non-interrupting event sub-process does not catch the escalation that it throws again", async () => {
    const one = await bench(`<endEvent id="t">${escalation("X1")}</endEvent>${handler}`, "s -> t", ESCALATIONS);
    expect(one.start().ending).toMatchObject({ kind: "completed" });
    expect(one.state.completed).toMatchObject({ t: 1, hs: 1, he: 1, h: 1 });
  });

  test("an escalation that an event sub-process throws again reaches the boundary event around its scope", async () => {
    const inside = `<subProcess id="p1"><startEvent id="i"/><endEvent id="t">${escalation("X1")}</endEvent>${handler}${flows("i -> t")}</subProcess>
      <boundaryEvent id="x" attachedToRef="p1">${escalation("X1")}</boundaryEvent><userTask id="a"/>`;
    expect((await bench(inside, "s -> p1\nx -> a", ESCALATIONS)).start().active).toEqual(["a"]);
  });

  test("a catching escalation event whose escalation has no code catches every escalation", async () => {
    const inside = `<subProcess id="p1"><startEvent id="i"/><endEvent id="t">${escalation("X1")}</endEvent>${flows("i -> t")}</subProcess>
      <boundaryEvent id="x" attachedToRef="p1">${escalation("X0")}</boundaryEvent><userTask id="a"/>`;
    const one = await bench(inside, "s -> p1\nx -> a", `${ESCALATIONS}<escalation id="X0" name="any"/>`);
    expect(one.start().active).toEqual(["a"]);
  });
});

describe("multi-instance details", () => {
  const multi = (inside: string, attributes = ""): string =>
    `<multiInstanceLoopCharacteristics ${attributes}>${inside}</multiInstanceLoopCharacteristics>`;

  test("nested multi-instance activities count their instances separately and end by their own conditions", async () => {
    const one = await bench(
      `<subProcess id="p1">${multi("<loopCardinality>2</loopCardinality>")}
         <userTask id="u">${multi("<loopCardinality>3</loopCardinality><completionCondition>numberOfCompletedInstances = 2</completionCondition>")}</userTask>
       </subProcess><userTask id="after"/>`,
      "s -> p1\np1 -> after",
    );
    one.start();
    expect(one.open("task")).toHaveLength(6);
    one.done("u").done("u");
    expect(one.open("task")).toHaveLength(3);
    one.done("u").done("u");
    expect(one.active).toEqual(["after"]);
  });

  test("a multi-instance activity reads its collection and writes its outputs through data associations", async () => {
    const one = await bench(
      `<dataObject id="orders" name="orders"/><dataObjectReference id="ordersRef" dataObjectRef="orders"/>
       <dataObject id="totals" name="totals"/><dataObjectReference id="totalsRef" dataObjectRef="totals"/>
       <serviceTask id="a"><ioSpecification><dataInput id="in" name="list"/><dataOutput id="out" name="gathered"/>
         <inputSet><dataInputRefs>in</dataInputRefs></inputSet><outputSet><dataOutputRefs>out</dataOutputRefs></outputSet></ioSpecification>
         <dataInputAssociation id="ia"><sourceRef>ordersRef</sourceRef><targetRef>in</targetRef></dataInputAssociation>
         <dataOutputAssociation id="oa"><sourceRef>out</sourceRef><targetRef>totalsRef</targetRef></dataOutputAssociation>
         ${multi('<loopDataInputRef>in</loopDataInputRef><loopDataOutputRef>out</loopDataOutputRef><inputDataItem id="item" name="item"/><outputDataItem id="r" name="r"/>')}
       </serviceTask>`,
      "s -> a\na -> e",
    );
    one.start({ orders: ["x", "y"] });
    expect(one.seen.map(({ item }) => item)).toEqual(["x", "y"]);
    one.done("a", { r: 1 }).done("a", { r: 2 });
    expect(one.ending).toMatchObject({ kind: "completed", variables: { totals: [1, 2] } });
  });

  test("a met complex behavior condition cancels the remaining instances, throws its event and moves the token on", async () => {
    const one = await bench(
      `<serviceTask id="a">${multi(
        `<loopCardinality>4</loopCardinality><complexBehaviorDefinition><condition>numberOfCompletedInstances = 2</condition>
         <event id="te"><signalEventDefinition id="td" signalRef="S"/></event></complexBehaviorDefinition>`,
        'behavior="Complex"',
      )}</serviceTask><boundaryEvent id="x" attachedToRef="a"><signalEventDefinition signalRef="S"/></boundaryEvent>
       <userTask id="sent"/><userTask id="on"/>`,
      "s -> a\na -> on\nx -> sent",
      '<signal id="S" name="enough"/>',
    );
    one.start().done("a");
    expect(one.open("work")).toHaveLength(3);
    expect(one.done("a").active).toEqual(["on", "sent"]);
  });

  test("an error in one instance ends all instances and is caught by the boundary event", async () => {
    const one = await bench(
      `<serviceTask id="a">${multi("<loopCardinality>3</loopCardinality>")}</serviceTask>
       <boundaryEvent id="x" attachedToRef="a">${error("E1")}</boundaryEvent><userTask id="b"/>`,
      "s -> a\na -> e\nx -> b",
      ERRORS,
    );
    one.start().done("a");
    one.throws("a", "one");
    expect(one.active).toEqual(["b"]);
  });
});

describe("data", () => {
  test("data associations copy data objects into a task and back, with transformations and assignments", async () => {
    const one = await bench(
      `<dataObject id="d1" name="price"/><dataObjectReference id="r1" dataObjectRef="d1"/><dataObject id="d2" name="total"/>
       <serviceTask id="a"><ioSpecification><dataInput id="in" name="net"/><dataOutput id="out" name="gross"/><inputSet/><outputSet/></ioSpecification>
         <dataInputAssociation id="ia"><sourceRef>r1</sourceRef><targetRef>in</targetRef><transformation>price * 2</transformation></dataInputAssociation>
         <dataOutputAssociation id="oa"><sourceRef>out</sourceRef><targetRef>d2</targetRef></dataOutputAssociation>
       </serviceTask>
       <serviceTask id="b"><dataInputAssociation id="ib"><targetRef>in2</targetRef><assignment><from>total + 1</from><to>more</to></assignment></dataInputAssociation>
         <ioSpecification><dataInput id="in2" name="more"/><inputSet/><outputSet/></ioSpecification></serviceTask>`,
      "s -> a\na -> b\nb -> e",
    );
    one.start({ price: 10 });
    expect(one.seen).toMatchObject([{ net: 20 }]);
    one.done("a", { gross: 24 });
    expect(one.variables).toMatchObject({ total: 24 });
    expect(one.seen).toMatchObject([{ more: 25 }]);
  });
});

describe("compensation", () => {
  const undoable = (id: string): string =>
    `<userTask id="${id}"/><boundaryEvent id="x${id}" attachedToRef="${id}">${compensate()}</boundaryEvent>
     <userTask id="undo${id}" isForCompensation="true"/><association id="as${id}" sourceRef="x${id}" targetRef="undo${id}"/>`;

  test("compensation without waitForCompletion runs in parallel, and the process ends after both", async () => {
    const thrown = `<intermediateThrowEvent id="t">${compensate('waitForCompletion="false"')}</intermediateThrowEvent>`;
    const one = await bench(`${undoable("a")}${thrown}<userTask id="b"/>`, "s -> a\na -> t\nt -> b\nb -> e");
    one.start().done("a");
    expect(one.active).toEqual(["b", "t", "undoa"]);
    one.done("b");
    expect(one.ending).toBe(null);
    expect(one.done("undoa").ending).toMatchObject({ kind: "completed" });
  });

  test("an event that throws compensation is counted once, if it waits and if it does not", async () => {
    for (const waits of [true, false]) {
      const thrown = `<intermediateThrowEvent id="t">${compensate(`waitForCompletion="${waits}"`)}</intermediateThrowEvent>`;
      const one = await bench(thrown, "s -> t\nt -> e");
      expect(one.start().state.completed).toMatchObject({ t: 1, e: 1 });
    }
  });

  test("compensation of an activity that has not completed does nothing", async () => {
    const thrown = `<intermediateThrowEvent id="t">${compensate()}</intermediateThrowEvent>`;
    const one = await bench(`${undoable("a")}${thrown}<userTask id="b"/>`, "s -> a\ns -> t\nt -> b\nb -> e");
    expect(one.start().active).toEqual(["a", "b"]);
  });

  test("a transaction ended by an error is not compensated; a cancelled one is, before its cancel event continues", async () => {
    const model = (end: string): string =>
      `<transaction id="p1"><startEvent id="i"/>${undoable("a")}<endEvent id="t">${end}</endEvent>${flows("i -> a\na -> t")}</transaction>
       <boundaryEvent id="c" attachedToRef="p1"><cancelEventDefinition/></boundaryEvent>
       <boundaryEvent id="x" attachedToRef="p1">${error("E1")}</boundaryEvent><userTask id="failed"/><userTask id="cancelled"/>`;
    const flowing = "s -> p1\np1 -> e\nc -> cancelled\nx -> failed";
    const one = (await bench(model(error("E1")), flowing, ERRORS)).start().done("a");
    expect(one.active).toEqual(["failed"]);
    const two = (await bench(model("<cancelEventDefinition/>"), flowing, ERRORS)).start().done("a");
    expect(two.active).toEqual(["p1", "undoa"]);
    expect(two.done("undoa").active).toEqual(["cancelled"]);
  });
});

describe("waits", () => {
  test("one trigger of a multiple event is enough, and a parallel multiple event needs all", async () => {
    const event = (attributes: string): string =>
      `<intermediateCatchEvent id="c" ${attributes}>${message("m1")}${message("m2")}</intermediateCatchEvent><userTask id="a"/>`;
    const one = (await bench(event(""), "s -> c\nc -> a", MESSAGES)).start().comes("c", { x: 1 });
    expect(one.active).toEqual(["a"]);
    expect(one.open("message")).toEqual([]);
    const all = (await bench(event('parallelMultiple="true"'), "s -> c\nc -> a", MESSAGES))
      .start()
      .comes("c", { x: 1 });
    expect(all.active).toEqual(["c"]);
    expect(all.comes("c", { y: 2 }).active).toEqual(["a"]);
    expect(all.variables).toEqual({ x: 1, y: 2 });
  });

  test("a message to a receive task also ends its boundary timer", async () => {
    const one = await bench(
      `<receiveTask id="a" messageRef="m1"/><boundaryEvent id="x" attachedToRef="a">
       <timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent><userTask id="late"/>`,
      "s -> a\na -> e\nx -> late",
      MESSAGES,
    );
    one.start();
    expect(one.open("timer")).toHaveLength(1);
    expect(one.comes("a").ending).toMatchObject({ kind: "completed" });
    expect(one.cancelled).toEqual(["x"]);
  });

  test("an event sub-process sees the variables of its scope, and an interrupting one ends non-interrupting ones", async () => {
    const inside = (id: string, interrupting: boolean, ref: string): string =>
      `<subProcess id="${id}" triggeredByEvent="true"><startEvent id="${id}s" isInterrupting="${interrupting}">${message(ref)}</startEvent>
       <userTask id="${id}u"/>${flows(`${id}s -> ${id}u`)}</subProcess>`;
    const one = await bench(
      `<subProcess id="p1"><startEvent id="i"/><userTask id="u"/>${flows("i -> u")}${inside("n", false, "m1")}${inside("q", true, "m2")}</subProcess>
       <userTask id="after"/>`,
      "s -> p1\np1 -> after",
      MESSAGES,
    );
    one.start().comes("ns").comes("ns");
    expect(one.active).toEqual(["n", "n", "nu", "nu", "p1", "u"]);
    one.comes("qs", { why: 1 });
    expect(one.active).toEqual(["p1", "q", "qu"]);
    expect(one.open("message")).toEqual([]);
    expect(one.done("qu").active).toEqual(["after"]);
  });

  test("a timer with a past date is due at once, and a cycle counts from its start", async () => {
    const one = await bench(
      `<intermediateCatchEvent id="c"><timerEventDefinition><timeDate>1970-01-01T00:00:01Z</timeDate></timerEventDefinition></intermediateCatchEvent>`,
      "s -> c\nc -> e",
    );
    one.start();
    expect(one.issued).toMatchObject([{ kind: "timer", dueAt: 1_000 }]);
  });
});

describe("gateways", () => {
  test("an event-based gateway accepts a receive task, and its flows may lead back to it", async () => {
    const one = await bench(
      `<eventBasedGateway id="g"/><receiveTask id="a" messageRef="m1"/>
       <intermediateCatchEvent id="c"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></intermediateCatchEvent>`,
      "s -> g\ng -> a\ng -> c\nc -> g\na -> e",
      MESSAGES,
    );
    one.start().comes("c");
    expect(one.active).toEqual(["g"]);
    expect(one.comes("a", { x: 1 }).ending).toMatchObject({ kind: "completed", variables: { x: 1 } });
  });

  test("a gateway with several incoming and outgoing flows joins and splits", async () => {
    const one = await bench(
      '<parallelGateway id="f"/><userTask id="a"/><userTask id="b"/><parallelGateway id="j"/><userTask id="c"/><userTask id="d"/>',
      "s -> f\nf -> a\nf -> b\na -> j\nb -> j\nj -> c\nj -> d",
    );
    one.start().done("a");
    expect(one.active).toEqual(["b"]);
    expect(one.done("b").active).toEqual(["c", "d"]);
  });
});
