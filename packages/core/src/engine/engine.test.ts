import { describe, expect, it, onTestFinished } from "vitest";
import { createEngine, memoryStore, type PawlError, type RunQuery, type RunSummary, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const echo = workflow("echo", async (_, input: unknown) => input);
const waits = workflow("waits", async (ctx, input: unknown) => [input, (await ctx.listen("go")).value]);

describe.each(TEST_STORES)("start, on the store $name", ({ create }) => {
  it("start resolves when the run is durable, and run.result() when it has ended", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [echo] });
    const run = await engine.start(echo, { a: 1 });
    expect(run.id).toMatch(/^[0-9a-f-]{36}$/);
    expect(await cluster.result(run)).toEqual({ a: 1 });
    expect(await run.result()).toEqual({ a: 1 });
  });

  it("start without an input starts the run with the input undefined", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [echo] });
    expect(await cluster.result(await engine.start(echo))).toBeUndefined();
  });

  it("start with an existing id returns the existing run when workflow and input are the same", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    const [a, b] = await Promise.all([
      engine.start(waits, { n: 1 }, { id: "r" }),
      engine.start(waits, { n: 1 }, { id: "r" }),
    ]);
    await a.send("go", "x");
    expect(await cluster.result(b)).toEqual([{ n: 1 }, "x"]);
    expect(await cluster.result(await engine.start(waits, { n: 1 }, { id: "r" }))).toEqual([{ n: 1 }, "x"]);
    expect((await engine.list()).items).toHaveLength(1);
  });

  it("start rejects with RUN_EXISTS when the id belongs to a run of another workflow or input", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits, echo] });
    await engine.start(waits, 1, { id: "r" });
    await expect(engine.start(waits, 2, { id: "r" })).rejects.toMatchObject({ code: "RUN_EXISTS" });
    await expect(engine.start(echo, 1, { id: "r" })).rejects.toMatchObject({ code: "RUN_EXISTS" });
    await expect(engine.start(waits, 1, { id: "r", onConflict: "fail" })).rejects.toMatchObject({ code: "RUN_EXISTS" });
    expect(await engine.get("r")).toMatchObject({ workflow: "waits", input: 1 });
  });

  it("a run started by a client stays pending until a worker executes it", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.engine();
    const run = await client.start(echo, "later");
    await cluster.world.advance("10 s");
    expect(await run.status()).toBe("pending");
    await cluster.engine({ workflows: [echo] });
    await cluster.world.advance("2 s");
    expect(await cluster.result(run)).toBe("later");
  });

  it("a run with a delay starts after the delay", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [echo] });
    const run = await engine.start(echo, 1, { delay: "30 s" });
    await cluster.world.advance(29_999);
    expect(await run.status()).toBe("pending");
    await cluster.world.advance("1 s");
    expect(await cluster.result(run)).toBe(1);
  });

  it("start rejects an invalid id, tag, delay or input, and starts no run", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [echo] });
    const code = async (call: () => Promise<unknown>): Promise<unknown> => {
      try {
        return await call();
      } catch (error) {
        return (error as PawlError).code;
      }
    };
    for (const id of ["", "a//b", "x".repeat(256), "a\nb", "\ud800"]) {
      expect(await code(() => engine.start(echo, 1, { id }))).toBe("ID_INVALID");
    }
    expect(await code(() => engine.start(echo, 1, { tags: [""] }))).toBe("NAME_INVALID");
    expect(await code(() => engine.start(echo, 1, { delay: -1 }))).toBe("DURATION_INVALID");
    expect(await code(() => engine.start(echo, () => 1))).toBe("PAYLOAD_UNSUPPORTED");
    expect(await code(() => engine.get("a\u0000"))).toBe("ID_INVALID");
    expect(await code(async () => engine.run(""))).toBe("ID_INVALID");
    expect((await engine.list()).items).toEqual([]);
  });

  it("ids that look alike or contain special characters stay distinct", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [echo] });
    const ids = ["a:b", "a", "A", "%", "_", "__proto__", "constructor", "é", "e\u0301", "a/b", "'; --", "𝒳", " "];
    const runs = [];
    for (const id of ids) runs.push(await engine.start(echo, id, { id }));
    for (const [index, run] of runs.entries()) expect(await cluster.result(run)).toBe(ids[index]);
    expect((await engine.list()).items).toHaveLength(ids.length);
  });
});

describe.each(TEST_STORES)("reading runs, on the store $name", ({ create }) => {
  it("engine.get returns a run with decoded values, or null if it does not exist", async () => {
    const cluster = await create(onTestFinished);
    const failing = workflow("failing", { codeErrors: "fail" }, async () => {
      throw new TypeError("no");
    });
    const engine = await cluster.engine({ workflows: [echo, failing] });
    await cluster.result(await engine.start(echo, new Map([["k", 1n]]), { id: "ok", tags: ["t"] }));
    expect(await engine.get("ok")).toMatchObject({
      id: "ok",
      workflow: "echo",
      version: 1,
      status: "completed",
      tags: ["t"],
      input: new Map([["k", 1n]]),
      output: new Map([["k", 1n]]),
      error: null,
      createdAt: cluster.world.now(),
      endedAt: cluster.world.now(),
    });
    await cluster.failure(await engine.start(failing, undefined, { id: "bad" }));
    expect(await engine.get("bad")).toMatchObject({
      status: "failed",
      output: undefined,
      error: { name: "TypeError", message: "no" },
    });
    expect(await engine.get("none")).toBeNull();
    await expect(engine.run("none").status()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    await expect(engine.run("none").result()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    await expect(engine.run("none").journal()).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
  });

  it("engine.list filters by status, workflow, tag and time, newest first", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [echo, waits] });
    const ids = async (query: Parameters<typeof engine.list>[0]): Promise<string[]> =>
      (await engine.list(query)).items.map((run: RunSummary) => run.id);
    const start = cluster.world.now();
    await engine.start(echo, 1, { id: "e1", tags: ["red"] });
    await cluster.world.advance("1 s");
    await engine.start(waits, 1, { id: "w1", tags: ["red", "big"] });
    await cluster.world.advance("1 s");
    await engine.start(echo, 1, { id: "e2" });
    await cluster.world.settle();
    expect(await ids({})).toEqual(["e2", "w1", "e1"]);
    expect(await ids({ status: ["completed"] })).toEqual(["e2", "e1"]);
    expect(await ids({ status: ["suspended", "failed"] })).toEqual(["w1"]);
    expect(await ids({ workflow: "echo" })).toEqual(["e2", "e1"]);
    expect(await ids({ tag: "red" })).toEqual(["w1", "e1"]);
    expect(await ids({ createdAfter: start + 500 })).toEqual(["e2", "w1"]);
    expect(await ids({ createdBefore: start + 1_500, workflow: "waits" })).toEqual(["w1"]);
  });

  it("engine.list pages without missing or repeating a run while others are started", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [echo] });
    for (let n = 0; n < 25; n += 1) await engine.start(echo, n, { id: `r${n}` });
    const seen: string[] = [];
    for (let cursor: string | null | undefined; cursor !== null; ) {
      const page = await engine.list(cursor === undefined ? { limit: 4 } : { limit: 4, cursor });
      seen.push(...page.items.map((run) => run.id));
      cursor = page.cursor;
      await cluster.world.advance(1);
      await engine.start(echo, 0);
    }
    expect(seen).toHaveLength(25);
    expect(new Set(seen).size).toBe(25);
    await expect(engine.list({ limit: 0 })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(engine.list({ limit: 10, cursor: "nonsense" })).rejects.toMatchObject({ code: "CURSOR_INVALID" });
  });

  it("run.journal() returns the records with decoded values", async () => {
    const cluster = await create(onTestFinished);
    const steps = workflow("steps", async (ctx) => {
      await ctx.step("good", () => new Date(5));
      await ctx.tryStep("bad", () => Promise.reject(new RangeError("no")), { retry: false });
      await ctx.listen("m", { timeout: 0 });
    });
    const engine = await cluster.engine({ workflows: [steps] });
    const run = await engine.start(steps, undefined);
    await cluster.result(run);
    const at = cluster.world.now();
    expect(await run.journal()).toMatchObject([
      {
        seq: 1,
        location: "good",
        kind: "step",
        outcome: "ok",
        attempts: 1,
        value: new Date(5),
        error: null,
        startedAt: at,
        at,
      },
      {
        seq: 2,
        location: "bad",
        kind: "step",
        outcome: "failed",
        attempts: 1,
        value: undefined,
        error: { name: "RangeError" },
      },
      { seq: 3, location: "m", kind: "listen", outcome: "timedOut", attempts: 0, value: undefined, error: null },
    ]);
  });

  it("list selects by parent, version and the time of the end, page by page", async () => {
    const cluster = await create(onTestFinished);
    const leaf = workflow("leaf", async (ctx, ms: number) => ctx.sleep(ms));
    const leaf2 = workflow("leaf", { version: 2 }, async (ctx, ms: number) => ctx.sleep(ms));
    const parent = workflow("parent", async (ctx) => {
      await Promise.all([1_000, 2_000, 3_000].map((ms) => ctx.child(leaf, ms, { name: `c${ms}`, tags: [`t${ms}`] })));
    });
    const engine = await cluster.engine({ workflows: [leaf, leaf2, parent] });
    const startedAt = cluster.world.now();
    await engine.start(parent, undefined, { id: "p" });
    await engine.start(leaf2, 2_000, { id: "second" });
    await engine.start(leaf, 3_600_000, { id: "open" });
    await cluster.world.advance("5 s");
    const ids = async (query: RunQuery): Promise<readonly string[]> => {
      const found: string[] = [];
      for (let cursor: string | null | undefined; cursor !== null; ) {
        const page = await engine.list({ ...query, ...(cursor === undefined ? {} : { cursor }) });
        found.push(...page.items.map(({ id }) => id));
        cursor = page.cursor;
      }
      return found.sort();
    };
    const children = ["p//c1000", "p//c2000", "p//c3000"];
    expect(await ids({ parent: "p" })).toEqual(children);
    expect(await ids({ parent: "p", limit: 1 })).toEqual(children);
    expect(await ids({ parent: "p", tag: "t2000", limit: 1 })).toEqual(["p//c2000"]);
    expect(await ids({ parent: "p", status: ["running"] })).toEqual([]);
    expect(await ids({ parent: "open" })).toEqual([]);
    expect(await ids({ version: 2 })).toEqual(["second"]);
    expect(await ids({ version: 1, workflow: "leaf", limit: 2 })).toEqual(["open", ...children]);
    const [early, late] = [startedAt + 1_500, startedAt + 2_500];
    expect(await ids({ endedBefore: early })).toEqual(["p//c1000"]);
    expect(await ids({ endedAfter: early, endedBefore: late, limit: 1 })).toEqual(["p//c2000", "second"]);
    expect(await ids({ endedAfter: late })).toEqual(["p", "p//c3000"]);
    expect(await ids({ endedAfter: late, status: ["suspended"] })).toEqual([]);
    await expect(engine.list({ version: 0 })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  it("run.watch() yields each record once, in order, until the run ends", async () => {
    const cluster = await create(onTestFinished);
    const slow = workflow("slow", async (ctx) => {
      await ctx.step("a", () => 1);
      await ctx.sleep("5 s");
      await ctx.step("b", () => 2);
    });
    const worker = await cluster.engine({ workflows: [slow] });
    const client = await cluster.engine();
    const run = await worker.start(slow, undefined);
    const seen: Record<string, string[]> = { worker: [], client: [] };
    const follow = async (who: string, handle: typeof run): Promise<void> => {
      for await (const record of handle.watch()) seen[who]!.push(record.location);
    };
    const following = Promise.all([follow("worker", run), follow("client", client.run(run.id))]);
    await cluster.world.advance("10 s");
    await following;
    expect(seen).toEqual({ worker: ["a", "sleep", "b"], client: ["a", "sleep", "b"] });
  });

  it("run.watch({ after }) yields only later records, and resumes where another watch stopped", async () => {
    const cluster = await create(onTestFinished);
    const three = workflow("three", async (ctx) => {
      for (const name of ["a", "b", "c"]) await ctx.step(name, () => name);
    });
    const engine = await cluster.engine({ workflows: [three] });
    const run = await engine.start(three);
    await cluster.result(run);
    let last = 0;
    for await (const { seq } of run.watch()) {
      last = seq;
      break;
    }
    const seen: string[] = [];
    for await (const { location } of run.watch({ after: last })) seen.push(location);
    expect(seen).toEqual(["b", "c"]);
    for await (const record of run.watch({ after: 99 })) seen.push(record.location);
    expect(seen).toHaveLength(2);
    expect(() => run.watch({ after: -1 })).toThrow("after must be an integer of at least 0; got -1");
  });

  it("run.watch() continues with the operator's record and the new records when the run is rewound", async () => {
    const cluster = await create(onTestFinished);
    const steps = workflow("steps", async (ctx) => {
      for (const name of ["a", "b", "c", "d"]) await ctx.step(name, () => name);
      await ctx.listen("go");
    });
    const worker = await cluster.engine({ workflows: [steps] });
    const client = await cluster.engine();
    const run = await worker.start(steps);
    const seen: Record<string, string[]> = { worker: [], client: [] };
    const follow = async (who: string, handle: typeof run): Promise<void> => {
      for await (const { seq, location } of handle.watch()) seen[who]!.push(`${seq} ${location}`);
    };
    const following = Promise.all([follow("worker", run), follow("client", client.run<void>(run.id))]);
    await cluster.world.advance("5 s");
    await run.rewind("c");
    await cluster.world.advance("5 s");
    await run.rewind(1);
    await cluster.world.advance("5 s");
    await run.send("go", null);
    await cluster.world.advance("5 s");
    await following;
    const first = ["1 a", "2 b", "3 c", "4 d"];
    const second = ["3 ~", "4 c", "5 d"];
    const records = await run.journal();
    const third = records.map(({ seq, location }) => `${seq} ${location}`);
    for (const who of ["worker", "client"]) {
      expect(seen[who]!.slice(0, 7)).toEqual([...first, ...second]);
      expect(seen[who]!.slice(7)).toEqual(third.slice(third.length - (seen[who]!.length - 7)));
      expect(seen[who]!.slice(7).map((line) => line.split(" ")[1])).toEqual(
        expect.arrayContaining(["b", "c", "d", "go"]),
      );
    }
  });

  it("run.watch({ signal }) throws the signal's reason when it is aborted", async () => {
    const cluster = await create(onTestFinished);
    const worker = await cluster.engine({ workflows: [waits] });
    const client = await cluster.engine();
    const run = await worker.start(waits, 1);
    for (const handle of [run, client.run(run.id)]) {
      const stop = new AbortController();
      const seen: string[] = [];
      const following = (async () => {
        for await (const { location } of handle.watch({ signal: stop.signal })) seen.push(location);
      })().catch((error: unknown) => error);
      await cluster.world.settle();
      stop.abort("enough");
      expect(await following).toBe("enough");
      expect(seen).toEqual([]);
    }
    await run.send("go", "x");
    expect(await cluster.result(run)).toEqual([1, "x"]);
  });

  it("run.result({ timeout }) rejects with RESULT_TIMEOUT while the run continues, in each process", async () => {
    const cluster = await create(onTestFinished);
    const worker = await cluster.engine({ workflows: [waits] });
    const client = await cluster.engine();
    const run = await worker.start(waits, 1, { id: "r" });
    const calls = [run, client.run(run.id)].map((handle) =>
      handle.result({ timeout: "5 s" }).catch((error: PawlError) => `${error.code}: ${error.message}`),
    );
    await cluster.world.advance("4 s");
    expect(await Promise.race([...calls, "nothing yet"])).toBe("nothing yet");
    await cluster.world.advance("1 s");
    const late = "RESULT_TIMEOUT: run r has not ended within 5 s; it continues";
    expect(await Promise.all(calls)).toEqual([late, late]);
    const intime = client.run("r").result({ timeout: "1 hour" });
    await run.send("go", "x");
    await cluster.world.advance("3 s");
    expect(await intime).toEqual([1, "x"]);
    await expect(run.result({ timeout: 0 })).rejects.toMatchObject({ code: "OPTION_INVALID" });
  });

  it("run.result({ signal }) rejects with the signal's reason, and later calls are not affected", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [waits] });
    const run = await engine.start(waits, 1);
    const stop = new AbortController();
    const stopped = run.result({ signal: stop.signal }).catch((error: unknown) => error);
    await cluster.world.settle();
    stop.abort(new Error("the caller left"));
    expect(await stopped).toMatchObject({ message: "the caller left" });
    await expect(run.result({ signal: stop.signal })).rejects.toThrow("the caller left");
    const waiting = run.result({ signal: new AbortController().signal });
    await run.send("go", "x");
    expect(await waiting).toEqual([1, "x"]);
    expect(await run.result({ signal: AbortSignal.timeout(100_000) })).toEqual([1, "x"]);
  });

  it("a typed handle refers to the run by its id", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [echo] });
    const client = await cluster.client();
    await engine.start(echo, 5, { id: "r" });
    await cluster.world.settle();
    expect(await engine.run(echo, "r").result()).toBe(5);
    expect(await client.run(echo, "r").result()).toBe(5);
    expect(() => engine.run(echo, "")).toThrow(expect.objectContaining({ code: "ID_INVALID" }));
  });

  it("run.result() resolves when the run ends in another process", async () => {
    const cluster = await create(onTestFinished);
    const client = await cluster.engine();
    const run = await client.start(waits, 1);
    const result = run.result();
    const worker = await cluster.engine({ workflows: [waits] });
    await worker.send(run.id, "go", "there");
    await cluster.world.advance("3 s");
    expect(await result).toEqual([1, "there"]);
  });

  it("run.result() rejects within a poll when another process cancels a hot run", async () => {
    const cluster = await create(onTestFinished);
    const worker = await cluster.engine({ workflows: [waits] });
    const run = await worker.start(waits, 1);
    const result = run.result().catch((error: PawlError) => error.code);
    await cluster.world.advance("1 s");
    const other = await cluster.engine();
    await other.cancel(run.id, "not wanted");
    await cluster.world.advance("3 s");
    expect(await Promise.race([result, "nothing yet"])).toBe("RUN_CANCELLED");
  });
});

describe("createEngine", () => {
  it("createEngine rejects invalid options", async () => {
    const wrong = async (options: object): Promise<unknown> =>
      createEngine({ store: memoryStore(), ...options }).then(
        () => "accepted",
        (error: PawlError) => error.code,
      );
    expect(await wrong({ workflows: [echo, workflow("echo", async () => 1)] })).toBe("WORKFLOW_DUPLICATE");
    expect(await wrong({ concurrency: 0 })).toBe("OPTION_INVALID");
    expect(await wrong({ hotRuns: -1 })).toBe("OPTION_INVALID");
    expect(await wrong({ claimsMax: 3.5 })).toBe("OPTION_INVALID");
    expect(await wrong({ claimsMax: 3 })).toBe("OPTION_INVALID");
    expect(await wrong({ poisoned: "drop" })).toBe("OPTION_INVALID");
    expect(await wrong({ payloadBytesMax: Number.NaN })).toBe("OPTION_INVALID");
    expect(await wrong({ lease: 0 })).toBe("OPTION_INVALID");
    expect(await wrong({ poll: "often" })).toBe("DURATION_INVALID");
    expect(await wrong({ storageRetryPolicy: { maxAttempts: 0 } })).toBe("OPTION_INVALID");
  });
});
