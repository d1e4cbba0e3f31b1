import { memoryStore, type Store } from "pawl";
import { intercepted } from "pawl/testing";
import { expect, onTestFinished, test } from "vitest";
import { documentOf, flows } from "./testing/document.ts";
import { ended, type Options, siteOf, TAKE_OVER } from "./testing/site.ts";

/** Tests of growth. They count written and read records and bytes, because times depend on the host. */

interface Counted {
  readonly store: Store;
  commits: number;
  snapshots: number;
  /** The total size of all snapshots. */
  snapshotBytes: number;
  /** The size of the last snapshot. */
  lastBytes: number;
  /** Records read to take over a run or to view it. */
  recordsRead: number;
}

function counting(): Counted {
  const inner = memoryStore();
  const counted: Counted = {
    commits: 0,
    snapshots: 0,
    snapshotBytes: 0,
    lastBytes: 0,
    recordsRead: 0,
    store: intercepted(inner, async (call, proceed) => {
      if (call.method === "commit") {
        counted.commits += 1;
        for (const body of snapshotsIn(JSON.stringify(call.batch))) {
          counted.snapshots += 1;
          counted.snapshotBytes += body.length;
          counted.lastBytes = body.length;
        }
      }
      const answer = await proceed();
      if (call.method === "load") counted.recordsRead += recordsOf(answer);
      return answer;
    }),
  };
  return counted;
}

function snapshotsIn(batch: string): readonly string[] {
  return [...batch.matchAll(/\{"kind":"snapshot","id":"[^"]*","runId":"[^"]*","body":("(?:[^"\\]|\\.)*")/g)].map(
    ([, body]) => JSON.parse(body ?? '""') as string,
  );
}

function recordsOf(loaded: unknown): number {
  return (loaded as { readonly records: readonly unknown[] } | null)?.records.length ?? 0;
}

const EACH = documentOf(
  `<dataObject id="list" name="list"/><startEvent id="s"/><endEvent id="e"/>
   <serviceTask id="t"><multiInstanceLoopCharacteristics>
     <loopDataInputRef>list</loopDataInputRef><inputDataItem id="item" name="item"/>
   </multiInstanceLoopCharacteristics></serviceTask>${flows("s -> t\nt -> e")}`,
);

test("the cost of a multi-instance activity per instance does not grow with the list, in commits and snapshots", async () => {
  const costs: Array<{ readonly n: number; readonly commits: number; readonly bytes: number }> = [];
  for (const n of [300, 1_200]) {
    const counted = counting();
    const { open, world } = await siteOf(counted.store, onTestFinished);
    const seen: unknown[] = [];
    const { bpmn } = await open({ tasks: { serviceTask: ({ variables }) => void seen.push(variables.item) } });
    await bpmn.deploy(EACH);
    const list = Array.from({ length: n }, (_, i) => `item ${i}`);
    await ended(world, await bpmn.start("p", { list }));
    expect(seen).toEqual(list);
    costs.push({ n, commits: counted.commits / n, bytes: counted.snapshotBytes / n });
  }
  const [few, many] = costs;
  expect(many?.commits).toBeLessThan((few?.commits ?? 0) * 1.2);
  expect(many?.bytes).toBeLessThan((few?.bytes ?? 0) * 1.3);
});

test("a run continues without a snapshot when it exceeds the size limit", async () => {
  const { open, world } = await siteOf(memoryStore(), onTestFinished);
  const large = "x".repeat(300_000);
  const { bpmn } = await open({ tasks: { serviceTask: () => ({}) }, snapshotEvery: 1 });
  await bpmn.deploy(
    documentOf(
      `<startEvent id="s"/><endEvent id="e"/><serviceTask id="t">
       <extensionElements><pawl:ioMapping><pawl:input source="large" target="own"/></pawl:ioMapping></extensionElements>
       <multiInstanceLoopCharacteristics><loopCardinality>12</loopCardinality></multiInstanceLoopCharacteristics>
       </serviceTask>${flows("s -> t\nt -> e")}`,
    ),
  );
  expect(await ended(world, await bpmn.start("p", { large }))).toEqual({ large });
});

test("the snapshot of a looping process stays constant in size, and takeover reads only later records", async () => {
  const sizes: number[] = [];
  for (const rounds of [50, 1_000]) {
    const counted = counting();
    const { open, world } = await siteOf(counted.store, onTestFinished);
    const options: Options = {
      handlers: { a: ({ variables }) => ({ n: Number(variables.n) + 1 }) },
      snapshotEvery: 10,
    };
    const before = await open(options);
    await before.bpmn.deploy(
      documentOf(
        `<startEvent id="s"/><endEvent id="e"/><serviceTask id="a"/><exclusiveGateway id="g"/><userTask id="u"/>
         ${flows("s -> a\na -> g\ng -[n < rounds]-> a\ng -[n >= rounds]-> u\nu -> e")}`,
      ),
    );
    const run = await before.bpmn.start("p", { n: 0, rounds });
    await world.settle();
    before.process.crash();
    counted.recordsRead = 0;
    const { bpmn, engine } = await open(options);
    await world.advance(TAKE_OVER);
    expect((await bpmn.view(run.id)).variables).toEqual({ n: rounds, rounds });
    await bpmn.completeTask(run.id, "u/task");
    await ended(world, engine.run(run.id));
    // One takeover, two views, and the records of the definition run.
    expect(counted.recordsRead).toBeLessThan(40);
    sizes.push(counted.lastBytes);
  }
  expect(sizes[1]).toBeLessThan((sizes[0] ?? 0) * 1.1);
});

test("a handler that mutates its variables does not change the process", async () => {
  const { open, world } = await siteOf(memoryStore(), onTestFinished);
  const { bpmn } = await open({
    handlers: {
      a: ({ variables }) => {
        const { order } = variables as { readonly order: { lines: number[] } };
        order.lines.push(2);
        return { count: order.lines.length };
      },
    },
  });
  await bpmn.deploy(
    documentOf(`<startEvent id="s"/><endEvent id="e"/><serviceTask id="a"/>${flows("s -> a\na -> e")}`),
  );
  const run = await bpmn.start("p", { order: { lines: [1] } });
  expect(await ended(world, run)).toEqual({ order: { lines: [1] }, count: 2 });
});
