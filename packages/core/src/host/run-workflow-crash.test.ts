import { expect, it } from "vitest";
import type { KvDriver, KvWrite } from "../store/kv/kv-driver.ts";
import { type MemoryDriver, memoryDriver } from "../store/kv/memory-driver.ts";
import { virtualWorld } from "../testing/virtual-world.ts";
import { Loop } from "../workflow/structure.ts";
import { workflow } from "../workflow/workflow.ts";
import { runWorkflow } from "./run-workflow.ts";

interface Crash {
  /** The driver of the process that dies. */
  readonly driver: KvDriver;
  readonly died: Promise<void>;
}

/** The driver of a process that dies at its n-th write. The write takes effect if `applied`. */
function dyingAt(inner: MemoryDriver, write: number, applied: boolean): Crash {
  let died: () => void = () => undefined;
  const death = new Promise<void>((resolve) => {
    died = resolve;
  });
  let writes = 0;
  const counted = async (call: () => Promise<void>): Promise<void> => {
    writes += 1;
    if (writes < write) return await call();
    if (writes === write && applied) await call();
    died();
    return await new Promise<never>(() => undefined);
  };
  return {
    died: death,
    driver: {
      get: (key) => inner.get(key),
      set: (key, value) => counted(() => inner.set(key, value)),
      delete: (key) => counted(() => inner.delete(key)),
      deletePrefix: (prefix) => counted(() => inner.deletePrefix(prefix)),
      list: (prefix) => inner.list(prefix),
      batch: (batch: readonly KvWrite[]) => counted(() => inner.batch(batch)),
      setAlarm: (runId, at) => counted(() => inner.setAlarm(runId, at)),
      clearAlarm: (runId) => counted(() => inner.clearAlarm(runId)),
    },
  };
}

const OUTPUT = "5 boxes for ann";
const EFFECTS = ["charge", "mail", "pack 5"];

/** Executes a run to its end in several processes, of which the first dies at a write. Returns the output and the effects. */
async function runToEnd(crashAt: { readonly write: number; readonly applied: boolean }) {
  const world = virtualWorld();
  const storage = memoryDriver();
  const effects: string[] = [];
  const pack = workflow("pack", (ctx, boxes: number) => ctx.step("pack", () => void effects.push(`pack ${boxes}`)));
  const order = workflow("order", async (ctx) => {
    await ctx.step("charge", () => void effects.push("charge"));
    await ctx.sleep("1 h");
    const boxes = await ctx.loop({
      name: "boxes",
      state: 0,
      commitInterval: 2,
      historyKeep: 1,
      run: async (c, n) => (n === 5 ? Loop.break(n) : Loop.continue(await c.step("box", () => n + 1))),
    });
    await ctx.join("both", {
      child: (c) => c.child(pack, boxes),
      mail: (c) => c.step("mail", () => void effects.push("mail")),
    });
    const { value } = await ctx.listen<string>("approve");
    return `${boxes} boxes for ${value}`;
  });
  const options = { world, log: () => undefined, workflows: [pack] } as const;
  const dying = dyingAt(storage, crashAt.write, crashAt.applied);
  const dead = { state: "dead", output: undefined } as const;
  let hasDied = false;
  for (let pass = 0; pass < 40; pass += 1) {
    // Each process has a separate driver.
    const driver = hasDied ? dyingAt(storage, Number.POSITIVE_INFINITY, false).driver : dying.driver;
    const death = dying.died.then(() => dead);
    const run = runWorkflow("order", order, undefined, driver, options);
    const { state, output } = await (hasDied ? run.result : Promise.race([run.result, death]));
    if (state === "completed") return { output, effects: effects.sort(), hasDied };
    if (state === "dead") hasDied = true;
    else if (storage.alarm === null) {
      const sent = run.message("approve", "ann", { id: "approval" }).then(() => ({ state }));
      if ((await (hasDied ? sent : Promise.race([sent, death]))).state === "dead") hasDied = true;
    }
    world.clock.set(Math.max(world.now(), storage.alarm?.at ?? 0));
  }
  throw new Error("the run did not end");
}

it.each([true, false])(
  "a run survives a crash at each write of its storage and alarm (applied: %s)",
  async (applied) => {
    let crashes = 0;
    let repeated = 0;
    for (let write = 1; ; write += 1) {
      const { output, effects, hasDied } = await runToEnd({ write, applied });
      expect(output, `write ${write}`).toBe(OUTPUT);
      if (!hasDied) {
        expect(effects).toEqual(EFFECTS);
        break;
      }
      crashes += 1;
      repeated += effects.length - EFFECTS.length;
      expect([...new Set(effects)], `write ${write}`).toEqual(EFFECTS);
      // Steps that were running when the process died are repeated: at most two run in parallel.
      expect(effects.length, `write ${write}`).toBeLessThanOrEqual(EFFECTS.length + 2);
    }
    expect(crashes).toBeGreaterThan(15);
    expect(repeated).toBeGreaterThan(0);
  },
);
