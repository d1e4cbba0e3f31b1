import { expect, it } from "vitest";
import { type Ctx, createEngine, type Engine, memoryStore, workflow } from "../index.ts";
import type { Transition } from "../model/transition.ts";
import type { Store } from "../store/store.ts";
import { intercepted } from "../testing/intercepted.ts";
import { virtualWorld } from "../testing/virtual-world.ts";

/** Sends one message to each of eight runs of `code`, the next when a run received its own. Returns the kinds of transitions per commit. */
async function sendInSequence(code: (ctx: Ctx) => Promise<unknown>): Promise<{ commits: string[]; engine: Engine }> {
  const world = virtualWorld();
  const commits: string[] = [];
  const store: Store = intercepted(memoryStore(), (call, proceed) => {
    if (call.method === "commit") commits.push(call.batch.map(kindOf).join(" "));
    return proceed();
  });
  let received: () => void = () => undefined;
  const listening = workflow("listening", async (ctx) => {
    await ctx.listen("go");
    received();
    return await code(ctx);
  });
  const engine = await createEngine({ store, workflows: [listening], world });
  for (let n = 0; n < 8; n += 1) await engine.start(listening, undefined, { id: `r${n}` });
  await world.settle();
  commits.length = 0;
  const send = (n: number): void => {
    if (n === 8) return;
    received = () => send(n + 1);
    void engine.send(`r${n}`, "go", n);
  };
  send(0);
  await world.settle();
  return { commits, engine };
}

function kindOf(transition: Transition): string {
  return transition.kind === "append" ? (transition.state?.status ?? "records") : transition.kind;
}

it("the end of an idle run is deferred for at most two batches of callers' ops", async () => {
  const { commits, engine } = await sendInSequence(async () => 1);
  expect(commits.slice(0, 4)).toEqual(["post", "post", "post", expect.stringContaining("completed post")]);
  expect(commits.join(" ").match(/completed/g)).toHaveLength(8);
  expect(await engine.run("r0").result()).toBe(1);
  await engine.shutdown();
});

it("deferred run ends are committed before the last caller they yielded to gets its answer", async () => {
  const world = virtualWorld();
  const seen: string[] = [];
  const store: Store = intercepted(memoryStore(), (call, proceed) => {
    if (call.method === "commit") seen.push(call.batch.map(kindOf).join(" "));
    return proceed();
  });
  const listening = workflow("listening", async (ctx) => {
    await ctx.listen("go");
    seen.push("code");
  });
  const engine = await createEngine({ store, workflows: [listening], world });
  for (let n = 0; n < 6; n += 1) await engine.start(listening, undefined, { id: `r${n}` });
  await world.settle();
  seen.length = 0;
  const senders = (async () => {
    for (let n = 0; n < 6; n += 1) {
      await engine.send(`r${n}`, "go", n);
      seen.push("answer");
    }
  })();
  await world.settle();
  await senders;
  const light = ["post", "code", "answer"];
  const third = ["post", "code", "completed completed completed", "answer"];
  expect(seen).toEqual([...light, ...light, ...third, ...light, ...light, ...third]);
  await engine.shutdown();
});

it("a step result is never deferred", async () => {
  const { commits, engine } = await sendInSequence((ctx) => ctx.step("s", () => 1));
  expect(commits[1]).toMatch(/records|running/);
  await engine.shutdown();
});

it("a woken run executes before the sender gets its answer", async () => {
  const order: string[] = [];
  const world = virtualWorld();
  const listening = workflow("listening", async (ctx) => {
    await ctx.listen("go");
    order.push(`code of ${ctx.runId}`);
  });
  const engine = await createEngine({ store: memoryStore(), workflows: [listening], world });
  for (const id of ["a", "b"]) await engine.start(listening, undefined, { id });
  await world.settle();
  for (const id of ["a", "b", "nobody"]) void engine.send(id, "go", 1).then(() => order.push(`answer for ${id}`));
  await world.settle();
  expect(order).toEqual(["code of a", "code of b", "answer for a", "answer for b", "answer for nobody"]);
  await engine.shutdown();
});
