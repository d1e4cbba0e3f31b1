import { describe, expect, test } from "vitest";
import { documentOf, flows } from "../testing/document.ts";
import { MachineBench } from "../testing/machine-bench.ts";

async function bench(inside: string, flowText: string, beside = ""): Promise<MachineBench> {
  const end = `${flowText}${inside}`.match(/> e|"e"/) ? '<endEvent id="e"/>' : "";
  return await MachineBench.of(documentOf(`<startEvent id="s"/>${end}${inside}${flows(flowText)}`, beside));
}

const timer = (kind: string, text: string): string =>
  `<timerEventDefinition><time${kind}>${text}</time${kind}></timerEventDefinition>`;
const SIGNAL = '<signal id="S" name="go"/>';
const signal = '<signalEventDefinition signalRef="S"/>';
const compensate = "<compensateEventDefinition/>";

describe("boundary events", () => {
  const PLAIN = "s -> a\na -> e\nx -> b\nb -> e";

  test("an interrupting boundary event cancels its activity with all content and continues on its own flow", async () => {
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

  test("a non-interrupting boundary event triggers repeatedly while its activity continues", async () => {
    const one = await bench(
      `<userTask id="a"/><userTask id="b"/>
       <boundaryEvent id="x" attachedToRef="a" cancelActivity="false">${timer("Cycle", "R2/PT1H")}</boundaryEvent>`,
      PLAIN,
    );
    const startedAt = one.at;
    one.start();
    one.at = startedAt + 3_600_500;
    one.comes("x");
    expect(one.state.commands).toContainEqual({ kind: "timer", location: "x#2", dueAt: startedAt + 7_200_000 });
    one.comes("x#2");
    expect(one.active).toEqual(["a", "b", "b"]);
    expect(one.open("timer")).toEqual([]);
  });

  test("a non-interrupting timer event with cron triggers at each of its times", async () => {
    const one = await bench(
      `<userTask id="a"/><userTask id="b"/>
       <boundaryEvent id="x" attachedToRef="a" cancelActivity="false">${timer("Cycle", "0 0 * * * *")}</boundaryEvent>`,
      "s -> a\na -> e\nx -> b",
    );
    one.start();
    for (const hour of [1, 2, 3]) {
      expect(one.state.commands).toContainEqual(expect.objectContaining({ kind: "timer", dueAt: hour * 3_600_000 }));
      one.at = hour * 3_600_000;
      one.comes("x");
    }
    expect(one.active).toEqual(["a", "b", "b", "b"]);
  });

  test("a boundary event that triggers after its activity has ended changes nothing", async () => {
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

  test("an error is caught by its code before a catch-all, and by the nearest scope first", async () => {
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

describe("event sub-processes", () => {
  const inside = (attributes: string): string =>
    `<subProcess id="a"><startEvent id="as"/><userTask id="i"/>${flows("as -i1-> i")}
       <subProcess id="x" triggeredByEvent="true"><startEvent id="xs" ${attributes}>${signal}</startEvent><userTask id="h"/>${flows("xs -x1-> h")}</subProcess>
     </subProcess><userTask id="b"/>`;

  test("an interrupting event sub-process cancels the rest of its scope and completes the scope", async () => {
    const one = await bench(inside(""), "s -> a\na -> b\nb -> e", SIGNAL);
    one.start().comes("xs", { why: "late" });
    expect(one.active).toEqual(["a", "h", "x"]);
    expect(one.open("signal")).toEqual([]);
    expect(one.done("h").active).toEqual(["b"]);
    expect(one.variables).toEqual({ why: "late" });
  });

  test("a non-interrupting event sub-process runs any number of times, and its scope waits for it", async () => {
    const one = await bench(inside('isInterrupting="false"'), "s -> a\na -> b\nb -> e", SIGNAL);
    one.start().comes("xs").comes("xs#2");
    expect(one.active).toEqual(["a", "h", "h", "i", "x", "x"]);
    one.done("i").done("h");
    expect(one.active).toEqual(["a", "h", "x"]);
    expect(one.done("h").active).toEqual(["b"]);
  });
});

describe("signals", () => {
  const catching = `<intermediateCatchEvent id="c">${signal}</intermediateCatchEvent>`;
  const throwing = `<intermediateThrowEvent id="t">${signal}</intermediateThrowEvent>`;

  test("a signal reaches all waits of its own instance, and other runs", async () => {
    const one = await bench(
      `<parallelGateway id="f"/>${throwing}${catching}<userTask id="b"/>`,
      "s -> f\nf -> t\nf -> c\nt -> e\nc -> b\nb -> e",
      SIGNAL,
    );
    one.start({ n: 1 });
    expect(one.active).toEqual(["b"]);
    expect(one.issued.filter(({ kind }) => kind === "broadcast")).toMatchObject([{ name: "go", variables: { n: 1 } }]);
    expect(one.issued.filter(({ kind }) => kind === "signal")).toEqual([]);
  });

  test("an instance does not receive its own signal twice", async () => {
    const one = await bench(catching, "s -> c\nc -> e", SIGNAL);
    one.start();
    one.happens({ kind: "ownSignal", location: one.locationOf("c") });
    expect(one.active).toContain("c");
    one.comes("c");
    expect(one.active).not.toContain("c");
  });
});

describe("conditional events", () => {
  test("a conditional event triggers when a change of variables makes its condition true", async () => {
    const one = await bench(
      `<parallelGateway id="f"/><serviceTask id="a"/><intermediateCatchEvent id="c"><conditionalEventDefinition><condition>x > 1</condition></conditionalEventDefinition></intermediateCatchEvent>`,
      "s -> f\nf -> a\nf -> c\na -> e\nc -> e",
    );
    one.start({ x: 0 });
    expect(one.active).toEqual(["a", "c"]);
    one.done("a", { x: 2 });
    expect(one.ending?.kind).toBe("completed");
  });

  test("a non-interrupting conditional event triggers each time its condition becomes true, not while it stays true", async () => {
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
  test("a process ends when no token is left, not at its first end event", async () => {
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

  test("an uncaught error end event fails the process with its code", async () => {
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

  test("compensation undoes completed activities one by one, newest first, each once", async () => {
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

  test("compensation of one activity leaves the others, and of a sub-process undoes its content with its variables", async () => {
    const one = await bench(
      `<subProcess id="q">${undoable("a")}</subProcess>${undoable("b")}
       <intermediateThrowEvent id="t"><compensateEventDefinition activityRef="q"/></intermediateThrowEvent>`,
      "s -> q\nq -> b\nb -> t\nt -> e",
    );
    one.start().done("a", { y: 1 }).done("b");
    expect(one.open("work")).toEqual(["au/work"]);
    expect(one.done("au").ending?.kind).toBe("completed");
  });

  test("a cancelled transaction is compensated before its cancel event continues", async () => {
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

describe("operator actions", () => {
  const PLAIN = "s -> a\na -> b\nb -> e";

  test("an operator moves, cancels and adds tokens, and an action that does not apply changes nothing", async () => {
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

test("a process that loops without waiting fails", async () => {
  const one = await bench('<task id="a"/><exclusiveGateway id="g"/>', "s -> g\ng -> a\na -> g");
  expect(one.start().ending).toMatchObject({ kind: "failed" });
});

describe("computed names", () => {
  const juel = (text: string): string => ["$", "{", text, "}"].join("");
  const beside = `<message id="M" name="order-${juel("id")}"/><message id="N" name="=&quot;reply-&quot; + string(id)"/>
    <error id="E" errorCode="=&quot;E&quot; + string(id)"/><escalation id="X" escalationCode="x-${juel("id")}"/>`;

  test("the name of a message may be an expression, for a catching event, a throwing event and a task", async () => {
    const one = await bench(
      `<intermediateCatchEvent id="c"><messageEventDefinition messageRef="M"/></intermediateCatchEvent>
       <intermediateThrowEvent id="t"><messageEventDefinition messageRef="N"/></intermediateThrowEvent><receiveTask id="r" messageRef="M"/>`,
      "s -> c\nc -> t\nt -> r\nr -> e",
      beside,
    );
    one.start({ id: 7 });
    expect(one.state.commands).toMatchObject([{ kind: "message", name: "order-7" }]);
    one.comes("c", { id: 8 });
    expect(one.issued).toContainEqual(expect.objectContaining({ kind: "correlate", name: "reply-8" }));
    expect(one.state.commands).toMatchObject([{ kind: "message", name: "order-8" }]);
  });

  test("a computed name without a value is an incident", async () => {
    const one = await bench(
      '<intermediateThrowEvent id="t"><messageEventDefinition messageRef="N"/></intermediateThrowEvent>',
      "s -> t\nt -> e",
      '<message id="N" name="=target"/>',
    );
    expect(one.start().incidents).toEqual([["t", "invalid"]]);
    one.happens({ kind: "setVariables", row: null, variables: { target: "x" } });
    one.happens({ kind: "retry", row: one.rowOf("t") });
    expect(one.issued).toContainEqual(expect.objectContaining({ kind: "correlate", name: "x" }));
  });

  test("the code of an error or escalation may be an expression, for the event that throws and the event that catches", async () => {
    const inside = `<subProcess id="p1"><startEvent id="i"/><intermediateThrowEvent id="t"><escalationEventDefinition escalationRef="X"/></intermediateThrowEvent>
        <serviceTask id="w"/><endEvent id="x"><errorEventDefinition errorRef="E"/></endEvent>${flows("i -> t\nt -> w\nw -> x")}</subProcess>
      <boundaryEvent id="b1" attachedToRef="p1" cancelActivity="false"><escalationEventDefinition escalationRef="X"/></boundaryEvent><userTask id="a"/>
      <boundaryEvent id="b2" attachedToRef="p1"><errorEventDefinition errorRef="E"/></boundaryEvent><userTask id="b"/>`;
    const one = await bench(inside, "s -> p1\nb1 -> a\nb2 -> b", beside);
    expect(one.start({ id: 7 }).active).toEqual(["a", "p1", "w"]);
    expect(one.done("w").active).toEqual(["a", "b"]);
    const thrown = await bench(inside, "s -> p1\nb1 -> a\nb2 -> b", beside);
    expect(thrown.start({ id: 7 }).throws("w", "E8").incidents).toEqual([["w", "uncaughtError"]]);
    expect(thrown.happens({ kind: "retry", row: thrown.rowOf("w") }).throws("w", "E7").active).toEqual(["a", "b"]);
  });
});
