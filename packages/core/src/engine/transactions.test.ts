import { describe, expect, it, onTestFinished } from "vitest";
import { type Engine, type MemoryTx, type SqliteTx, type Store, StoreError, workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { ledger } from "../testing/effect-ledger.ts";
import { intercepted } from "../testing/intercepted.ts";
import type { TestCluster } from "../testing/test-cluster.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

type Tx = SqliteTx | MemoryTx;

const TRANSACTIONAL = TEST_STORES.filter(({ transactions }) => transactions === "batched");

const read = workflow("read", async (ctx) => ctx.transaction("lines", (tx: Tx) => ledger.lines(tx)));

/** The committed lines of the ledger. */
async function lines(cluster: TestCluster, engine: Engine): Promise<string[]> {
  return await cluster.result(await engine.start(read, undefined));
}

describe.each(TRANSACTIONAL)("a transaction, on the store $name", ({ create }) => {
  it("a transaction returns the value of its function and commits its writes", async () => {
    const cluster = await create(onTestFinished);
    const book = workflow("book", async (ctx, name: string) => {
      const first = await ctx.transaction("one", (tx: Tx, { attempt }) => {
        ledger.add(tx, `${name} ${attempt}`);
        return { seen: ledger.lines(tx).length };
      });
      const second = await ctx.transaction("two", (tx: Tx) => {
        ledger.add(tx, `${name} again`);
      });
      return [first, second];
    });
    const engine = await cluster.engine({ workflows: [book, read] });
    const run = await engine.start(book, "ann");
    expect(await cluster.result(run)).toEqual([{ seen: 1 }, undefined]);
    expect(await lines(cluster, engine)).toEqual(["ann 1", "ann again"]);
    const items = await run.journal();
    expect(items.map(({ kind, location, attempts }) => ({ kind, location, attempts }))).toEqual([
      { kind: "transaction", location: "one", attempts: 1 },
      { kind: "transaction", location: "two", attempts: 1 },
    ]);
  });

  it("a transaction is rolled back by its rollback when the run fails or is cancelled, whichever commit the process crashes at", async () => {
    const booking = (undone: string[]) =>
      workflow("booking", async (ctx, fails: boolean) => {
        await ctx.transaction(
          "book",
          (tx: Tx) => {
            ledger.add(tx, "booked");
            return { seat: 7 };
          },
          { rollback: ({ seat }) => undone.push(`seat ${seat}`) },
        );
        if (fails) throw new Error("no");
        await ctx.listen("never");
      });
    for (const fails of [true, false]) {
      const crashes = await atEachCommit(async (crashAt) => {
        const cluster = await create(onTestFinished);
        const undone: string[] = [];
        const book = booking(undone);
        const doomed = await cluster.engine({ workflows: [book], crashAt });
        const client = await cluster.engine();
        await client.start(book, fails, { id: "r" });
        await cluster.world.advance("1 s");
        const heir = await cluster.engine({ workflows: [book, read] });
        await cluster.world.advance("10 s");
        if (!fails) await heir.run("r").cancel();
        await expect(cluster.finish(heir.run("r"))).rejects.toThrow();
        expect(await heir.run("r").status()).toBe(fails ? "failed" : "cancelled");
        expect(new Set(undone)).toEqual(new Set(["seat 7"]));
        expect(undone.length).toBeLessThanOrEqual(2);
        expect(await lines(cluster, heir)).toEqual(["booked"]);
        return cluster.crashed(doomed);
      });
      expect(crashes).toBeGreaterThan(2);
    }
  });

  it("try returns the failure of a transaction like that of a step", async () => {
    const cluster = await create(onTestFinished);
    const trying = workflow("trying", async (ctx) => {
      const result = await ctx.try("scope", (c) =>
        c.transaction(
          "no",
          () => {
            throw new Error("no");
          },
          { retry: false },
        ),
      );
      return result.ok ? "ok" : result.failure.source;
    });
    const engine = await cluster.engine({ workflows: [trying] });
    expect(await cluster.result(await engine.start(trying, undefined))).toBe("step");
  });

  it("a transaction is committed exactly once, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const book = workflow("book", async (ctx) => {
        await ctx.step("before", () => "x");
        const values = await Promise.all([
          ctx.transaction("a", (tx: Tx) => add(tx, "a")),
          ctx.step("beside", () => "y"),
          ctx.transaction("b", (tx: Tx) => add(tx, "b")),
        ]);
        await ctx.sleep("1 minute");
        return [...values, await ctx.transaction("c", (tx: Tx) => add(tx, "c"))];
      });
      const add = (tx: Tx, line: string): string => {
        ledger.add(tx, line);
        return line;
      };
      const client = await cluster.engine({ workflows: [read] });
      const run = await client.start(book, undefined);
      const doomed = await cluster.engine({ workflows: [book], crashAt });
      await cluster.world.advance("2 s");
      await cluster.engine({ workflows: [book] });
      expect(await cluster.finish(run)).toEqual(["a", "y", "b", "c"]);
      expect([...(await lines(cluster, client))].sort()).toEqual(["a", "b", "c"]);
      return cluster.crashed(doomed);
    });
    expect(crashes).toBeGreaterThanOrEqual(8);
  });

  it("a transaction that throws is rolled back and retried like a step", async () => {
    const cluster = await create(onTestFinished);
    const flaky = workflow("flaky", async (ctx) =>
      ctx.transaction(
        "book",
        (tx: Tx, { attempt, idempotencyKey }) => {
          ledger.add(tx, `try ${attempt}`);
          if (attempt < 3) throw new Error("not yet");
          return idempotencyKey;
        },
        { retry: { maxAttempts: 3, initialMs: 1_000, jitter: 0 } },
      ),
    );
    const engine = await cluster.engine({ workflows: [flaky, read] });
    const run = await engine.start(flaky, undefined, { id: "f" });
    await cluster.world.settle();
    expect(await run.status()).toBe("suspended");
    expect(await cluster.finish(run)).toBe("f/book");
    expect(await lines(cluster, engine)).toEqual(["try 3"]);
    expect((await run.journal()).map(({ kind }) => kind)).toEqual(["retry", "retry", "transaction"]);
  });

  it("a transaction fails with its last error when its attempts are exhausted", async () => {
    const cluster = await create(onTestFinished);
    const doomed = workflow("doomed", async (ctx) =>
      ctx.transaction(
        "book",
        (tx: Tx) => {
          ledger.add(tx, "lost");
          throw new RangeError("too much");
        },
        { retry: false },
      ),
    );
    const engine = await cluster.engine({ workflows: [doomed, read] });
    const run = await engine.start(doomed, undefined);
    expect(await cluster.failure(run)).toMatchObject({ code: "RUN_FAILED", cause: { message: "too much" } });
    expect(await lines(cluster, engine)).toEqual([]);
  });

  it("a transaction with an async function is rolled back and fails with TX_ASYNC, without a retry", async () => {
    const cluster = await create(onTestFinished);
    let calls = 0;
    const late: unknown[] = [];
    const waits = workflow("waits", async (ctx) =>
      ctx.transaction("book", async (tx: Tx) => {
        calls += 1;
        ledger.add(tx, "before");
        await Promise.resolve();
        try {
          ledger.add(tx, "after");
        } catch (error) {
          late.push(error);
        }
      }),
    );
    const engine = await cluster.engine({ workflows: [waits, read] });
    const run = await engine.start(waits, undefined);
    expect(await cluster.failure(run)).toMatchObject({ cause: { code: "TX_ASYNC" } });
    expect(late).toMatchObject([{ code: "TX_INVALID" }]);
    expect(calls).toBe(1);
    expect(await lines(cluster, engine)).toEqual([]);
  });

  it("a transaction whose value cannot be stored is rolled back", async () => {
    const cluster = await create(onTestFinished);
    const odd = workflow("odd", async (ctx) =>
      ctx.transaction("book", (tx: Tx) => {
        ledger.add(tx, "lost");
        return () => "a function";
      }),
    );
    const engine = await cluster.engine({ workflows: [odd, read] });
    expect(await cluster.failure(await engine.start(odd, undefined))).toMatchObject({
      cause: { code: "PAYLOAD_UNSUPPORTED" },
    });
    expect(await lines(cluster, engine)).toEqual([]);
  });

  it("transactions of several runs share a commit, and one that throws does not affect the others", async () => {
    const cluster = await create(onTestFinished);
    const book = workflow("book", async (ctx, n: number) =>
      ctx.transaction(
        "book",
        (tx: Tx) => {
          ledger.add(tx, `line ${n}`);
          if (n % 3 === 0) throw new Error("no");
          return n;
        },
        { retry: false },
      ),
    );
    const engine = await cluster.engine({ workflows: [book, read] });
    const before = cluster.commits(engine);
    const runs = await Promise.all(Array.from({ length: 9 }, (_, n) => engine.start(book, n)));
    await cluster.world.settle();
    expect(await Promise.all(runs.map((run) => run.status()))).toEqual(
      runs.map((_, n) => (n % 3 === 0 ? "failed" : "completed")),
    );
    expect(cluster.commits(engine) - before).toBeLessThan(6);
    expect(await lines(cluster, engine)).toEqual([1, 2, 4, 5, 7, 8].map((n) => `line ${n}`));
  });

  it("a transaction of a cancelled run writes nothing", async () => {
    const cluster = await create(onTestFinished);
    const book = workflow("book", async (ctx) => {
      await ctx.listen("go");
      await ctx.transaction("book", (tx: Tx) => ledger.add(tx, "late"));
    });
    const engine = await cluster.engine({ workflows: [book, read] });
    const run = await engine.start(book, undefined);
    await cluster.world.settle();
    await engine.send(run.id, "go", null);
    await engine.cancel(run.id);
    await cluster.world.settle();
    const status = await run.status();
    expect(await lines(cluster, engine)).toEqual(status === "completed" ? ["late"] : []);
    expect(status).toBe("cancelled");
  });
});

describe.each(TEST_STORES.filter(({ name }) => name !== "postgres" && name !== "redis"))(
  "engine calls inside a transaction, on the store $name",
  ({ create }) => {
    const greet = workflow("greet", async (ctx, name: string) => ctx.step("say", () => `hello ${name}`));

    it("start, send and emit inside a transaction take effect once, whichever commit the process crashes at", async () => {
      const crashes = await atEachCommit(async (crashAt) => {
        const cluster = await create(onTestFinished);
        let engine: Engine | null = null;
        const book = workflow("book", async (ctx) => {
          const child = await ctx.transaction("book", (tx: Tx) => {
            ledger.add(tx, "a");
            void engine?.start(greet, "ann", { tx, tags: ["enlisted"] });
            void engine?.send(ctx.runId, "note", "x", { tx });
            void engine?.emit("news", "y", { tx });
            return "booked";
          });
          const note = await ctx.listen("note");
          const news = await ctx.awaitEvent("news");
          return [child, note.value, news.value];
        });
        const client = await cluster.engine({ workflows: [read, greet] });
        const run = await client.start(book, undefined);
        const doomed = await cluster.engine({ workflows: [book], crashAt });
        engine = doomed;
        await cluster.world.advance("1 s");
        engine = await cluster.engine({ workflows: [book] });
        expect(await cluster.finish(run)).toEqual(["booked", "x", "y"]);
        await cluster.world.advance("2 s");
        expect(await lines(cluster, client)).toEqual(["a"]);
        const { items } = await client.list({ tag: "enlisted" });
        expect(items.map(({ status }) => status)).toEqual(["completed"]);
        return cluster.crashed(doomed);
      });
      expect(crashes).toBeGreaterThanOrEqual(2);
    });

    it("a start inside a transaction that throws has no effect, and a failed start rolls the transaction back", async () => {
      const cluster = await create(onTestFinished);
      let engine: Engine | null = null;
      const starts: Array<Promise<unknown>> = [];
      const book = workflow("book", async (ctx, bad: boolean) =>
        ctx.transaction(
          "book",
          (tx: Tx) => {
            ledger.add(tx, "a");
            const input = (bad ? () => 1 : "ann") as string;
            const start = engine
              ?.start(greet, input, { id: `g-${bad}`, tx })
              .catch((error: { code: string }) => error.code);
            starts.push(start ?? Promise.resolve());
            if (!bad) throw new Error("no");
          },
          { retry: false },
        ),
      );
      engine = await cluster.engine({ workflows: [book, greet, read] });
      const threw = await engine.start(book, false);
      const spoiled = await engine.start(book, true);
      expect(await cluster.failure(threw)).toMatchObject({ cause: { message: "no" } });
      expect(await cluster.failure(spoiled)).toMatchObject({ cause: { code: "PAYLOAD_UNSUPPORTED" } });
      expect(await starts[1]).toBe("PAYLOAD_UNSUPPORTED");
      expect(await lines(cluster, engine)).toEqual([]);
      expect([await engine.get("g-false"), await engine.get("g-true")]).toEqual([null, null]);
    });

    it("start rejects a tx that is not a transaction", async () => {
      const cluster = await create(onTestFinished);
      const engine = await cluster.engine({ workflows: [greet] });
      const nothing = {} as Tx;
      const codes = ["TX_INVALID", "TX_UNSUPPORTED"];
      const error = await engine.start(greet, "ann", { tx: nothing }).catch((thrown: { code: string }) => thrown);
      expect(codes).toContain((error as { code: string }).code);
    });
  },
);

/** A store with `transactions: "apart"`: async transactions run with their own tx, in parallel with other commits. */
function apart(store: Store): Store {
  return {
    ...intercepted(store, (_call, proceed) => proceed()),
    transactions: "apart",
    commit: async (batch) => {
      const [first] = batch;
      if (first?.kind !== "append" || first.transaction === null) return await store.commit(batch);
      try {
        await first.transaction({});
      } catch (error) {
        return { answers: [{ kind: "refused", reason: "threw", error }], wakes: [] };
      }
      return await store.commit([{ ...first, transaction: () => undefined }]);
    },
  };
}

describe.each(TRANSACTIONAL)("async transactions, on the store $name", ({ create }) => {
  it("an async transaction does not block other runs or parallel steps of its run", async () => {
    const cluster = await create(onTestFinished);
    let go: (value: string) => void = () => undefined;
    const gate = new Promise<string>((resolve) => {
      go = resolve;
    });
    const slow = workflow("slow", async (ctx) =>
      Promise.all([ctx.transaction("wait", async () => gate), ctx.step("beside", () => "quick")]),
    );
    const other = workflow("other", async (ctx) => ctx.step("a", () => "done"));
    const engine = await cluster.engine({ workflows: [slow, other], through: apart });
    const run = await engine.start(slow, undefined);
    await cluster.world.settle();
    expect(await cluster.result(await engine.start(other, undefined))).toBe("done");
    expect(await run.status()).toBe("running");
    go("slow");
    expect(await cluster.result(run)).toEqual(["slow", "quick"]);
  });

  it("an async transaction that rejects is retried", async () => {
    const cluster = await create(onTestFinished);
    const flaky = workflow("flaky", async (ctx) =>
      ctx.transaction("wait", async (_tx, { attempt }) => {
        await Promise.resolve();
        if (attempt === 1) throw new Error("no");
        return attempt;
      }),
    );
    const engine = await cluster.engine({ workflows: [flaky], through: apart });
    expect(await cluster.finish(await engine.start(flaky, undefined))).toBe(2);
  });

  it("shutdown waits for an async transaction, then releases its run", async () => {
    const cluster = await create(onTestFinished);
    let go: () => void = () => undefined;
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    const slow = workflow("slow", async (ctx) => {
      await ctx.transaction("wait", async () => gate);
      return ctx.step("after", () => "done");
    });
    const engine = await cluster.engine({ workflows: [slow], through: apart });
    const run = await engine.start(slow, undefined);
    await cluster.world.settle();
    const stopped = engine.shutdown({ drainMs: 1_000 });
    await cluster.world.advance("2 s");
    go();
    await cluster.world.advance("10 s");
    await stopped;
    const heir = await cluster.engine({ workflows: [slow], through: apart });
    expect(await cluster.finish(heir.run(run.id))).toBe("done");
    expect((await heir.run(run.id).journal()).map(({ location }) => location)).toEqual(["wait", "after"]);
  });
});

describe.each(TEST_STORES.filter(({ transactions }) => transactions === "none"))(
  "transactions on the store $name, which has none",
  ({ create }) => {
    it("a transaction fails with TX_UNSUPPORTED, its function is not called, and the run continues", async () => {
      const cluster = await create(onTestFinished);
      const bodies: string[] = [];
      const careful = workflow("careful", async (ctx) => {
        const failed = await ctx.transaction("book", () => void bodies.push("book")).catch((error) => error.code);
        return [failed, await ctx.step("else", () => "done")];
      });
      const engine = await cluster.engine({ workflows: [careful] });
      expect(await cluster.result(await engine.start(careful, undefined))).toEqual(["TX_UNSUPPORTED", "done"]);
      expect(bodies).toEqual([]);
    });
  },
);

describe.each(TEST_STORES)("the store $name", ({ create, transactions }) => {
  it("the store declares its kind of transactions", async () => {
    const cluster = await create(onTestFinished);
    await cluster.engine();
    expect(cluster.connect().transactions).toBe(transactions === "none" ? "batched" : transactions);
  });
});

/** Without the memory store: its replies are never lost, and a second call would change its stored record. */
const UNSURE = TRANSACTIONAL.filter(({ name }) => name !== "memory");

describe.each(UNSURE)("a transaction whose commit reply was lost, on the store $name", ({ create }) => {
  it("a transaction returns the recorded value, even if its function was called again after a lost commit reply", async () => {
    const cluster = await create(onTestFinished);
    let calls = 0;
    const late = (store: Store): Store => {
      let isUnknown = true;
      return intercepted(store, async ({ batch }, proceed) => {
        const code = batch
          .map((each) => (each.kind === "append" ? each.transaction : null))
          .find((each) => each !== null);
        if (code === undefined || code === null) return await proceed();
        if (!isUnknown) code({});
        const answer = await proceed();
        if (!isUnknown) return answer;
        isUnknown = false;
        throw new StoreError("STORE_UNAVAILABLE", "unknown", "broke before the answer");
      });
    };
    const book = workflow("book", async (ctx) => {
      const call = await ctx.transaction("book", () => ++calls);
      return [call, await ctx.step("after", () => call)];
    });
    const engine = await cluster.engine({ workflows: [book], through: late });
    const run = await engine.start(book, undefined);
    expect(await cluster.finish(run)).toEqual([1, 1]);
    expect(calls).toBe(2);
    expect((await run.journal()).map(({ value }) => value)).toEqual([1, 1]);
  });
});
