import { describe, expect, it, onTestFinished } from "vitest";
import { workflow } from "../index.ts";
import type { CodecHook } from "../model/payload.ts";
import { keyedCodec } from "../testing/partial-codec.ts";
import { TEST_STORES } from "../testing/test-stores.ts";
import { CODEC_DOCUMENT } from "./codec-check.ts";

const waiting = workflow("waiting", async (ctx, input: string) => {
  const charged = await ctx.step("charge", () => `${input} charged`);
  await ctx.listen("go");
  return charged;
});

/** Writes with the last key and reads with all of them. */
function ring(...keys: readonly string[]): CodecHook {
  const codecs = keys.map(keyedCodec);
  const name = keys.at(-1) ?? "";
  return {
    name,
    encode: (text) => keyedCodec(name).encode(text),
    decode: (text) => {
      const own = codecs.find((_, index) => text.startsWith(`${keys[index]}:`));
      if (own === undefined) throw new Error("no key fits");
      return own.decode(text);
    },
  };
}

const MISMATCH = { code: "CODEC_MISMATCH" };

describe.each(TEST_STORES)("the codec of a store, on $name", ({ create }) => {
  it.each([
    { from: "one key", to: "another key", writer: keyedCodec("k1"), other: keyedCodec("k2") },
    { from: "a key", to: "no codec", writer: keyedCodec("k1"), other: undefined },
    { from: "no codec", to: "a key", writer: undefined, other: keyedCodec("k1") },
  ])("an engine with $to does not open on a store of $from, and changes nothing", async ({ writer, other }) => {
    const cluster = await create(onTestFinished);
    const first = await cluster.engine({ workflows: [waiting], ...(writer && { codec: writer }) });
    const run = await first.start(waiting, "a");
    await cluster.world.settle();
    const before = await cluster.dump();
    const options = { workflows: [waiting], ...(other && { codec: other }) };
    await expect(cluster.engine(options)).rejects.toMatchObject(MISMATCH);
    await expect(cluster.client({ ...(other && { codec: other }) })).rejects.toMatchObject(MISMATCH);
    await cluster.world.advance("10 s");
    expect(await cluster.dump()).toEqual(before);
    await run.send("go", null);
    expect(await cluster.result(run)).toBe("a charged");
  });

  it("a key is rotated in three deployments, and every run completes", async () => {
    const cluster = await create(onTestFinished);
    const old = await cluster.engine({ workflows: [waiting], codec: ring("k1") });
    const before = await old.start(waiting, "before");
    await cluster.world.settle();
    // Both keys are known everywhere before an engine writes with the new one.
    const reads = await cluster.engine({ workflows: [waiting], codec: ring("k2", "k1") });
    await old.shutdown();
    const writes = await cluster.engine({ workflows: [waiting], codec: ring("k1", "k2") });
    const after = await writes.start(waiting, "after");
    await cluster.world.settle();
    await reads.shutdown();
    await expect(cluster.engine({ codec: ring("k1") })).rejects.toMatchObject(MISMATCH);
    await expect(cluster.engine({ codec: ring("k2") })).rejects.toMatchObject(MISMATCH);
    for (const run of [before, after]) await writes.send(run.id, "go", null);
    await cluster.world.advance("10 s");
    expect(await writes.run(before.id).result()).toBe("before charged");
    expect(await writes.run(after.id).result()).toBe("after charged");
    // No value of the old key is needed any more, so its check is removed.
    await cluster.engine({ codec: ring("k2"), acceptCodec: true });
    await cluster.engine({ codec: ring("k2") });
    await expect(cluster.engine({ codec: ring("k1") })).rejects.toMatchObject(MISMATCH);
  });

  it("an engine opens a store without a check only if it can read one of the newest runs", async () => {
    const cluster = await create(onTestFinished);
    const first = await cluster.engine({ workflows: [waiting], codec: keyedCodec("k1") });
    await first.start(waiting, "a", { id: "r" });
    await cluster.world.settle();
    const seen = await first.documents.get(CODEC_DOCUMENT.kind, CODEC_DOCUMENT.id);
    const { stored } = seen as NonNullable<typeof seen>;
    // An engine of an earlier release writes no check.
    const without = { kind: "revise", seen: stored, document: { ...stored, body: "[]" }, post: null } as const;
    const store = cluster.connect();
    await store.open({ now: () => cluster.world.clock.now(), every: () => () => undefined });
    expect(await store.commit([without])).toMatchObject({ answers: [{ kind: "applied" }] });
    await expect(cluster.engine({ codec: keyedCodec("k2") })).rejects.toMatchObject({
      ...MISMATCH,
      message: expect.stringContaining("such as r"),
    });
    await cluster.engine({ codec: keyedCodec("k1") });
  });

  it("one of two engines with different keys opens when they open an empty store at once", async () => {
    const cluster = await create(onTestFinished);
    const opened = await Promise.allSettled([
      cluster.engine({ codec: keyedCodec("k1") }),
      cluster.engine({ codec: keyedCodec("k2") }),
    ]);
    expect(opened.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
  });
});

describe("a codec that cannot work", () => {
  it.each([
    { what: "whose decode is not the inverse of encode", codec: { encode: (text: string) => text, decode: () => "" } },
    {
      what: "that encodes nothing",
      codec: {
        encode: () => {
          throw new Error("no key");
        },
        decode: (text: string) => text,
      },
    },
    { what: "that encodes to a promise", codec: { encode: async (text: string) => text, decode: String } },
    { what: "with an empty name", codec: { ...keyedCodec("k1"), name: "" } },
    { what: "with a name that is no text", codec: { ...keyedCodec("k1"), name: 1 } },
  ])("an engine is rejected with a codec $what", async ({ codec }) => {
    const [memory] = TEST_STORES;
    const cluster = await (memory as NonNullable<typeof memory>).create(onTestFinished);
    await expect(cluster.engine({ codec: codec as unknown as CodecHook })).rejects.toMatchObject({
      code: "OPTION_INVALID",
    });
  });

  it("an engine does not open when the check in the store is damaged", async () => {
    const [memory] = TEST_STORES;
    const cluster = await (memory as NonNullable<typeof memory>).create(onTestFinished);
    const engine = await cluster.engine();
    const seen = await engine.documents.get(CODEC_DOCUMENT.kind, CODEC_DOCUMENT.id);
    await engine.documents.revise(seen, { ...CODEC_DOCUMENT, runId: null, value: "damaged", attributes: {} });
    await expect(cluster.engine()).rejects.toMatchObject(MISMATCH);
    await cluster.engine({ acceptCodec: true });
    await cluster.engine();
  });
});
