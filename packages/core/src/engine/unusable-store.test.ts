import { describe, expect, it, onTestFinished } from "vitest";
import { PawlError } from "../model/errors.ts";
import { intercepted, type StoreCall } from "../testing/intercepted.ts";
import { TEST_STORES } from "../testing/test-stores.ts";
import { workflow } from "../workflow/workflow.ts";

const waits = workflow("waits", async (ctx) => (await ctx.listen("go")).value);

const WRITES: readonly StoreCall["method"][] = ["commit", "claim", "heartbeat", "retire", "prune"];
const refusal = { code: "STORE_UNSUPPORTED", message: "the schema is newer than this release" };

describe.each(TEST_STORES)("a store that must not be used any more, on $name", ({ create }) => {
  it.each([
    ["only heartbeats report it", (method: StoreCall["method"]) => method === "heartbeat"],
    ["every call reports it", (method: StoreCall["method"]) => method !== "close"],
    ["only loads report it", (method: StoreCall["method"]) => method === "load"],
    ["only commits report it", (method: StoreCall["method"]) => method === "commit"],
  ] as const)(
    "an engine stops and writes nothing more, and another worker continues its runs, if %s",
    async (_, reports) => {
      const cluster = await create(onTestFinished);
      let isRaised = false;
      let isStopped = false;
      const writes: string[] = [];
      const lines: unknown[] = [];
      const broken: unknown[] = [];
      const older = await cluster.engine({
        workflows: [waits],
        log: (level, text, fields) => void lines.push([level, text, fields.code]),
        through: (store) =>
          intercepted(store, async ({ method }, proceed) => {
            if (isRaised && reports(method)) throw new PawlError("STORE_UNSUPPORTED", refusal.message);
            if (isStopped && WRITES.includes(method)) writes.push(method);
            return await proceed();
          }),
      });
      older.on("engine.broken", ({ error }) => {
        broken.push(error);
        isStopped = true;
      });
      const run = await older.start(waits, undefined);
      const ended = run.result().catch((error: unknown) => error);
      await cluster.world.advance("1 s");
      isRaised = true;
      const newer = await cluster.engine({ workflows: [waits] });
      await cluster.world.advance("5 s");
      await newer.send(run.id, "go", 1);
      await cluster.world.advance("20 s");
      expect(await cluster.result(newer.run(run.id))).toBe(1);
      expect(broken).toMatchObject([refusal]);
      expect(lines).toEqual([["error", "engine stopped: store must not be used any more", "STORE_UNSUPPORTED"]]);
      await expect(older.start(waits, undefined)).rejects.toMatchObject(refusal);
      await expect(older.send(run.id, "go", 2)).rejects.toMatchObject(refusal);
      await expect(older.prune()).rejects.toMatchObject(refusal);
      await expect(older.get(run.id)).rejects.toMatchObject(refusal);
      expect(await ended).toMatchObject(refusal);
      await older.shutdown({ drainMs: 0 });
      expect(writes).toEqual([]);
    },
  );
});
