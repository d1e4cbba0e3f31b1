import { describe, expect, test } from "vitest";
import { documentOf, flows } from "../testing/document.ts";
import { MachineBench } from "../testing/machine-bench.ts";

const tasks = (...ids: readonly string[]): string => ids.map((id) => `<serviceTask id="${id}"/>`).join("");

async function bench(inside: string, flowText: string): Promise<MachineBench> {
  return await MachineBench.of(documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(flowText)}`));
}

describe("an exclusive gateway", () => {
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
  ])("takes the first flow whose condition is met, and the default last: x is %i", async (x, taken) => {
    expect((await bench(inside, text)).start({ x }).active).toEqual([taken]);
  });

  test("without a default and without a condition that is met is an incident, which can be retried when that is mended", async () => {
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

  test("merges by letting each token pass", async () => {
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

describe("a parallel gateway", () => {
  test("waits for one token of each flow, not for their number", async () => {
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

  test("ignores conditions on its flows, and follows all of them in the order of the model", async () => {
    const one = await bench(
      `<parallelGateway id="f"/>${tasks("a", "b")}`,
      "s -> f\nf -[false]-> b\nf -> a\na -> e\nb -> e",
    );
    one.start();
    expect(one.asked.map(({ location }) => location)).toEqual(["b/work", "a/work"]);
  });
});

describe("an inclusive join", () => {
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

  test("waits for every token that can still come, and for no other", async () => {
    const one = await bench(inside, text);
    one.start({ x: 2 }).done("a");
    expect(one.active).toEqual(["b"]);
    one.done("b");
    expect(one.active).toEqual(["z"]);
    expect((await bench(inside, text)).start({ x: 1 }).done("a").active).toEqual(["z"]);
    expect((await bench(inside, text)).start({ x: 0 }).done("c").active).toEqual(["z"]);
  });

  test("fires when the last token that it waits for goes another way, and when one dies", async () => {
    const away = await bench(
      `<parallelGateway id="f"/><exclusiveGateway id="x"/><inclusiveGateway id="j"/><endEvent id="e2"/>${tasks("a", "b", "z")}`,
      "s -> f\nf -> a\nf -> b\na -> j\nb -> x\nx -[y]-> j\nx -[not(y)]-> e2\nj -> z\nz -> e",
    );
    away.start({ y: false }).done("a");
    expect(away.active).toEqual(["b"]);
    expect(away.done("b").active).toEqual(["z"]);
  });

  test("fires when a token that it waits for is taken away by an error on the edge of its activity", async () => {
    const one = await bench(
      `<parallelGateway id="f"/><inclusiveGateway id="j"/><endEvent id="e2"/>${tasks("a", "b", "z")}
       <boundaryEvent id="x" attachedToRef="b"><errorEventDefinition/></boundaryEvent>`,
      "s -> f\nf -> a\nf -> b\na -> j\nb -> j\nx -> e2\nj -> z\nz -> e",
    );
    one.start().done("a");
    expect(one.active).toEqual(["b"]);
    expect(one.throws("b", "NO").active).toEqual(["z"]);
  });

  test("in a loop waits for no token that comes to it only through itself", async () => {
    const one = await bench(
      `<inclusiveGateway id="j"/><exclusiveGateway id="x"/>${tasks("a")}`,
      "s -> j\nj -> a\na -> x\nx -[n < 3]-> j\nx -[n >= 3]-> e",
    );
    one.start({ n: 0 });
    for (const n of [1, 2, 3]) one.done("a", { n });
    expect(one.ending?.kind).toBe("completed");
  });

  test("that waits for another one which waits for it is an incident, not silence", async () => {
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

describe("a complex gateway", () => {
  const inside = (condition: string): string =>
    `<parallelGateway id="f"/><complexGateway id="j"><activationCondition>${condition}</activationCondition></complexGateway>${tasks("a", "b", "c", "z")}`;
  const text = "s -> f\nf -> a\nf -> b\nf -> c\na -> j\nb -> j\nc -> j\nj -> z\nz -> e";

  test("fires once when its condition is met, and takes the rest of the round in", async () => {
    const one = await bench(inside("activationCount >= 2"), text);
    one.start().done("a");
    expect(one.active).toEqual(["b", "c"]);
    one.done("b");
    expect(one.active).toEqual(["c", "z"]);
    one.done("c").done("z");
    expect(one.ending?.kind).toBe("completed");
  });

  test("whose condition can't be computed is an incident", async () => {
    const one = await bench(inside("activationCount >"), text);
    expect(one.start().done("a").incidents).toEqual([["j", "expression"]]);
  });
});

describe("an event-based gateway", () => {
  test("goes on with what comes first, and waits for nothing else then", async () => {
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
