import { afterEach, describe, expect, it } from "vitest";
import { childPost, messagePost, type ProgramFactory, programWorkflow, topicPost, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

for (const kind of TEST_STORES) {
  describe(`register, on the store '${kind.name}'`, () => {
    const closers: Array<() => Promise<void>> = [];
    afterEach(async () => {
      for (const close of closers.splice(0)) await close();
    });

    const greet = workflow("greet", async (ctx, name: string) => await ctx.step("say", () => `hello ${name}`));

    it("an engine without workflows executes a workflow registered later", async () => {
      const cluster = await kind.create((close) => closers.push(close));
      const engine = await cluster.engine();
      const run = await engine.start(greet, "ann");
      await cluster.world.settle();
      expect(await run.status()).toBe("pending");
      await engine.register(greet);
      expect(await cluster.result(run)).toBe("hello ann");
      expect(await cluster.result(await engine.start(greet, "bob"))).toBe("hello bob");
    });

    it("a registered workflow runs beside others, and an existing name and version keeps its code", async () => {
      const cluster = await kind.create((close) => closers.push(close));
      const engine = await cluster.engine({ workflows: [greet] });
      const other = workflow("other", async (_ctx, n: number) => n + 1);
      await engine.register(other);
      await engine.register(workflow("greet", async () => "not this"));
      expect(await cluster.result(await engine.start(other, 1))).toBe(2);
      expect(await cluster.result(await engine.start(greet, "ann"))).toBe("hello ann");
    });

    it("a run of a registered workflow is taken over after a crash by a worker that has the workflow", async () => {
      const cluster = await kind.create((close) => closers.push(close));
      const engine = await cluster.engine();
      await engine.register(workflow("greet", async () => await new Promise<string>(() => undefined)));
      const run = await engine.start(greet, "ann");
      const heir = await cluster.takeOver(engine, {});
      await heir.register(greet);
      expect(await cluster.finish(heir.run<string>(run.id))).toBe("hello ann");
    });
  });

  describe(`posts of programs, on the store '${kind.name}'`, () => {
    const closers: Array<() => Promise<void>> = [];
    afterEach(async () => {
      for (const close of closers.splice(0)) await close();
    });

    it("posts of a program reach a child, another run and a topic in the commit of the run", async () => {
      const cluster = await kind.create((close) => closers.push(close));
      const child = workflow("child", async (_ctx, n: number) => n * 2);
      const listener = workflow("listener", async (ctx) => [await ctx.listen("hi"), await ctx.awaitEvent("news")]);
      const poster: ProgramFactory = (host) => {
        const rest = { issuedAt: 0, value: undefined, detail: null, settle: () => undefined } as const;
        return {
          start() {
            const message = messagePost(host, "tell", { to: "l", name: "hi", value: 1 });
            host.issue({ kind: "post", record: "send", location: "tell", post: message, ...rest });
            const event = { topic: "news", value: 2, deliver: "all", consume: "one", expireAfter: "1 h" } as const;
            const post = topicPost(host, "emit", event);
            host.issue({ kind: "post", record: "emit", location: "emit", post, ...rest });
            const start = childPost(host, "kid", { workflow: child, input: 21 });
            host.issue({ kind: "post", record: "spawn", location: "kid", post: start, ...rest });
            host.issue({
              kind: "wait",
              record: "child",
              location: "kid/result",
              issuedAt: 0,
              arms: [{ kind: "child", location: "kid", child: start.run.id, as: "kid" }],
              count: 1,
              many: false,
              until: null,
              atDeadline: { outcome: "timedOut", detail: null },
              settle: (completion) =>
                host.finish({ kind: "completed", output: completion.outcome === "ok" ? completion.value : "?" }),
            });
          },
        };
      };
      const posting = programWorkflow<null, unknown>("posting", poster);
      const engine = await cluster.engine({ workflows: [child, listener, posting] });
      const target = await engine.start(listener, undefined, { id: "l" });
      const run = await engine.start(posting, null);
      expect(await cluster.result(run)).toBe(42);
      expect(await cluster.result(target)).toMatchObject([{ value: 1 }, { value: 2 }]);
    });

    it("closing a location ends its command and no other", async () => {
      const cluster = await kind.create((close) => closers.push(close));
      const closing: ProgramFactory = (host) => {
        const wait = (location: string, settle: (value: unknown) => void): void =>
          host.issue({
            kind: "wait",
            record: "listen",
            location,
            issuedAt: 0,
            arms: [{ kind: "message", name: "m", as: "m" }],
            count: 1,
            many: false,
            until: null,
            atDeadline: { outcome: "timedOut", detail: null },
            settle: (completion) => settle(completion.outcome === "ok" ? completion.value : null),
          });
        return {
          start() {
            wait("a", () => host.finish({ kind: "completed", output: "a" }));
            wait("ab", () => host.finish({ kind: "completed", output: "ab" }));
            host.cancelUnder("a", new Error("not needed"));
          },
        };
      };
      const flow = programWorkflow<null, unknown>("closing", closing);
      const engine = await cluster.engine({ workflows: [flow] });
      const run = await engine.start(flow, null);
      await run.send("m", 1);
      expect(await cluster.result(run)).toBe("ab");
    });
  });
}
