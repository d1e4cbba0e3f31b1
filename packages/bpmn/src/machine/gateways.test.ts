import { describe, expect, test } from "vitest";
import { documentOf, flows } from "../testing/document.ts";
import { MachineBench } from "../testing/machine-bench.ts";

const tasks = (...ids: readonly string[]): string => ids.map((id) => `<serviceTask id="${id}"/>`).join("");

async function bench(inside: string, flowText: string): Promise<MachineBench> {
  return await MachineBench.of(documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(flowText)}`));
}

describe("exclusive gateways", () => {
  const inside = `<exclusiveGateway id="g" default="d"/>${tasks("a", "b", "c")}`;
  const text = `
    s -> g
    g -d-> c
    g -[x > 1]-> a
    g -[x > 0]-> b
    a -> e
    b -> e
    c -> e`;

  test.each([
    [2, "a"],
    [1, "b"],
    [0, "c"],
  ])("an exclusive gateway takes the first met flow, otherwise the default flow: x is %i", async (x, taken) => {
    expect((await bench(inside, text)).start({ x }).active).toEqual([taken]);
  });

  test("an exclusive gateway without a met flow or default is an incident, which can be retried after a fix", async () => {
    const one = await bench(
      `<exclusiveGateway id="g"/>${tasks("a", "b")}`,
      "s -> g\ng -[x > 1]-> a\ng -[x < 0]-> b\na -> e\nb -> e",
    );
    one.start({ x: 0 });
    expect(one.incidents).toEqual([["g", "noFlow"]]);
    one.happens({ kind: "retry", row: one.rowOf("g") });
    expect(one.incidents).toEqual([["g", "noFlow"]]);
    one.happens({ kind: "setVariables", row: null, variables: { x: 2 } });
    one.happens({ kind: "retry", row: one.rowOf("g") });
    expect(one.active).toEqual(["a"]);
    expect(one.done("a").ending?.kind).toBe("completed");
  });

  test("an exclusive gateway passes each incoming token on", async () => {
    const one = await bench(
      `<parallelGateway id="f"/><exclusiveGateway id="m"/>${tasks("a")}`,
      "s -> f\nf -> m\nf -x-> m\nm -> a\na -> e",
    );
    one.start();
    expect(one.active).toEqual(["a", "a"]);
    expect(one.done("a").ending).toBe(null);
    expect(one.done("a").ending?.kind).toBe("completed");
  });
});

describe("parallel gateways", () => {
  test("a parallel join waits for one token of each flow, not for a number of tokens", async () => {
    const one = await bench(
      `<parallelGateway id="f"/><exclusiveGateway id="m"/><parallelGateway id="j"/>${tasks("a", "b", "c", "z")}`,
      "s -> f\nf -> a\nf -> b\nf -> c\na -> m\nb -> m\nm -> j\nc -> j\nj -> z\nz -> e",
    );
    one.start().done("a").done("b");
    expect(one.active).toEqual(["c"]);
    one.done("c");
    expect(one.active).toEqual(["z"]);
    one.done("z");
    expect(one.ending).toBe(null);
    expect(one.active).toEqual([]);
  });

  test("a parallel gateway ignores conditions and takes all flows in the order of the model", async () => {
    const one = await bench(
      `<parallelGateway id="f"/>${tasks("a", "b")}`,
      "s -> f\nf -[false]-> b\nf -> a\na -> e\nb -> e",
    );
    one.start();
    expect(one.issued.map(({ location }) => location)).toEqual(["b/work", "a/work"]);
  });
});

describe("inclusive joins", () => {
  const inside = `<inclusiveGateway id="f" default="d"/><inclusiveGateway id="j"/>${tasks("a", "b", "c", "z")}`;
  const text = `
    s -> f
    f -[x > 0]-> a
    f -[x > 1]-> b
    f -d-> c
    a -> j
    b -> j
    c -> j
    j -> z
    z -> e`;

  test("an inclusive join waits for every token that can still arrive, and for no other", async () => {
    const one = await bench(inside, text);
    one.start({ x: 2 }).done("a");
    expect(one.active).toEqual(["b"]);
    one.done("b");
    expect(one.active).toEqual(["z"]);
    expect((await bench(inside, text)).start({ x: 1 }).done("a").active).toEqual(["z"]);
    expect((await bench(inside, text)).start({ x: 0 }).done("c").active).toEqual(["z"]);
  });

  test("an inclusive join fires when the last token it waits for takes another path or ends", async () => {
    const away = await bench(
      `<parallelGateway id="f"/><exclusiveGateway id="x"/><inclusiveGateway id="j"/><endEvent id="e2"/>${tasks("a", "b", "z")}`,
      "s -> f\nf -> a\nf -> b\na -> j\nb -> x\nx -[y]-> j\nx -[not(y)]-> e2\nj -> z\nz -> e",
    );
    away.start({ y: false }).done("a");
    expect(away.active).toEqual(["b"]);
    expect(away.done("b").active).toEqual(["z"]);
  });

  test("an inclusive join fires when an error boundary event removes the token it waits for", async () => {
    const one = await bench(
      `<parallelGateway id="f"/><inclusiveGateway id="j"/><endEvent id="e2"/>${tasks("a", "b", "z")}
       <boundaryEvent id="x" attachedToRef="b"><errorEventDefinition/></boundaryEvent>`,
      "s -> f\nf -> a\nf -> b\na -> j\nb -> j\nx -> e2\nj -> z\nz -> e",
    );
    one.start().done("a");
    expect(one.active).toEqual(["b"]);
    expect(one.throws("b", "NO").active).toEqual(["z"]);
  });

  test("an inclusive join waits for an activity whose non-interrupting boundary event can still reach it", async () => {
    const one = await bench(
      `<parallelGateway id="f"/><exclusiveGateway id="m"/><inclusiveGateway id="j"/>${tasks("a", "c", "z")}
       <boundaryEvent id="x" attachedToRef="a" cancelActivity="false"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>`,
      "s -> f\nf -> m\nf -y-> m\nm -> a\na -> j\nx -> c\nc -> j\nj -> z\nz -> e",
    );
    expect(one.start().done("a").active).toEqual(["a"]);
    expect(one.comes("x#2").active).toEqual(["a", "c"]);
    expect(one.done("a").active).toEqual(["c"]);
    expect(one.done("c").active).toEqual(["z", "z"]);
  });

  test("an inclusive join does not wait for a boundary event that has occurred for the last time", async () => {
    const one = await bench(
      `<parallelGateway id="f"/><exclusiveGateway id="m"/><inclusiveGateway id="j"/><endEvent id="e2"/>${tasks("a", "c", "z")}
       <boundaryEvent id="x" attachedToRef="a" cancelActivity="false"><timerEventDefinition><timeDuration>PT1H</timeDuration></timerEventDefinition></boundaryEvent>`,
      "s -> f\nf -> m\nf -y-> m\nm -> a\na -> j\nx -> c\nc -> e2\nx -w-> j\nj -> z\nz -> e",
    );
    one.start().done("a").comes("x#2");
    expect(one.active).toEqual(["a", "c", "z"]);
  });

  test("an inclusive join in a loop does not wait for tokens that must pass it first", async () => {
    const one = await bench(
      `<inclusiveGateway id="j"/><exclusiveGateway id="x"/>${tasks("a")}`,
      "s -> j\nj -> a\na -> x\nx -[n < 3]-> j\nx -[n >= 3]-> e",
    );
    one.start({ n: 0 });
    for (const n of [1, 2, 3]) one.done("a", { n });
    expect(one.ending?.kind).toBe("completed");
  });

  test("two inclusive joins that wait for each other create an incident", async () => {
    const one = await bench(
      `<parallelGateway id="f"/><inclusiveGateway id="j"/><inclusiveGateway id="k"/>${tasks("a", "b")}<endEvent id="e2"/>
       <exclusiveGateway id="x"/><exclusiveGateway id="y"/>`,
      "s -> f\nf -> a\nf -> b\na -> j\nb -> k\nj -> x\nx -[false]-> k\nx -[true]-> e\nk -> y\ny -[false]-> j\ny -[true]-> e2",
    );
    one.start().done("a").done("b");
    expect(one.incidents).toEqual([["j", "joinDeadlock"]]);
    one.happens({ kind: "retry", row: one.rowOf("j") });
    expect(one.ending?.kind).toBe("completed");
  });
});

describe("complex gateways", () => {
  const inside = (condition: string): string =>
    `<parallelGateway id="f"/><complexGateway id="j"><activationCondition>${condition}</activationCondition></complexGateway>${tasks("a", "b", "c", "z")}`;
  const text = "s -> f\nf -> a\nf -> b\nf -> c\na -> j\nb -> j\nc -> j\nj -> z\nz -> e";

  test("a complex gateway fires once when its condition is met, and consumes the remaining tokens", async () => {
    const one = await bench(inside("activationCount >= 2"), text);
    one.start().done("a");
    expect(one.active).toEqual(["b", "c"]);
    one.done("b");
    expect(one.active).toEqual(["c", "z"]);
    one.done("c").done("z");
    expect(one.ending?.kind).toBe("completed");
  });

  test("a complex gateway whose condition cannot be evaluated is an incident", async () => {
    const one = await bench(inside("activationCount >"), text);
    expect(one.start().done("a").incidents).toEqual([["j", "expression"]]);
  });
});

describe("event-based gateways", () => {
  test("an event-based gateway continues with the first event and ends its other waits", async () => {
    const one = await bench(
      `<eventBasedGateway id="g"/>${tasks("a", "b")}
       <intermediateCatchEvent id="m"><messageEventDefinition/></intermediateCatchEvent>
       <intermediateCatchEvent id="t"><timerEventDefinition><timeDuration>PT5S</timeDuration></timerEventDefinition></intermediateCatchEvent>`,
      "s -> g\ng -> m\ng -> t\nm -> a\nt -> b\na -> e\nb -> e",
    );
    one.start();
    expect(one.active).toEqual(["g"]);
    expect(one.state.commands).toMatchObject([
      { kind: "message", name: "m" },
      { kind: "timer", dueAt: one.at + 5_000 },
    ]);
    one.comes("m", { from: "ann" });
    expect(one.active).toEqual(["a"]);
    expect(one.cancelled).toEqual(["t"]);
    expect(one.variables).toEqual({ from: "ann" });
  });
});
