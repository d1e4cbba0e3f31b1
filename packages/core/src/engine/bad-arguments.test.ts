import { describe, expect, it, onTestFinished } from "vitest";
import { type Engine, ERRORS, PawlError, workflow } from "../index.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const echo = workflow("echo", async (ctx, input: unknown) => await ctx.step("say", () => input));

/** Calls of plain JavaScript that stopped the engine, and that changed something, or that were accepted without a word. */
const BAD_CALLS: readonly (readonly [string, (engine: Untyped) => unknown])[] = [
  ["submit of an unknown kind", (engine) => engine.submit({ kind: "bogus" })],
  ["submit of nothing", (engine) => engine.submit()],
  ["submit of a run that is text", (engine) => engine.submit({ kind: "start", run: "r" })],
  ["submit of a payload that is not encoded", (engine) => engine.submit(sendOp({ value: "not JSON" }))],
  ["submit of a payload that is an object", (engine) => engine.submit(sendOp({ value: {} }))],
  ["submitBatch with one bad op", (engine) => engine.submitBatch([sendOp({}), { kind: "bogus" }])],
  ["submitBatch of text", (engine) => engine.submitBatch("ops")],
  ["send with an object as a policy", (engine) => engine.send("r", "m", 1, { onTargetTerminated: {} })],
  ["send with NUL as a policy", (engine) => engine.send("r", "m", 1, { onTargetTerminated: "\0" })],
  ["send with a bigint as a policy", (engine) => engine.send("r", "m", 1, { onTargetTerminated: 10n })],
  ["send with an unknown option", (engine) => engine.send("r", "m", 1, { ttl: 5 })],
  ["send with null as options", (engine) => engine.send("r", "m", 1, null)],
  ["send of a message without a name", (engine) => engine.send("r", {}, 1)],
  ["emit with an object as a policy", (engine) => engine.emit("t", 1, { deliver: {} })],
  ["emit with NUL as a policy", (engine) => engine.emit("t", 1, { consume: "\0" })],
  ["emit of undefined", (engine) => engine.emit(undefined, 1)],
  ["removal of a dead letter by a list", (engine) => engine.deadLetters.remove([])],
  ["removal of a dead letter by a bigint", (engine) => engine.deadLetters.remove(10n)],
  ["replay of a dead letter to an object", (engine) => engine.deadLetters.replay("l", { to: {} })],
  ["a list of dead letters with a limit that is text", (engine) => engine.deadLetters.list({ limit: "10" })],
  ["start with an unknown policy", (engine) => engine.start(echo, 1, { onConflict: "replace" })],
  ["start with tags that are text", (engine) => engine.start(echo, 1, { tags: "vip" })],
  ["start with a misspelt option", (engine) => engine.start(echo, 1, { dealy: "1 s" })],
  ["start with options that throw", (engine) => engine.start(echo, 1, throwing())],
  ["list with an unknown status", (engine) => engine.list({ status: ["done"] })],
  ["list with a fraction as a limit", (engine) => engine.list({ limit: 1.5 })],
  ["list with a time that is text", (engine) => engine.list({ createdAfter: "yesterday" })],
  ["list with a forged cursor", (engine) => engine.list({ cursor: btoa('["runs",1e300,"r"]') })],
  ["cancel with a reason that is an object", (engine) => engine.cancel("r", {})],
  ["pause of a symbol", (engine) => engine.pause(Symbol("r"))],
  ["rewind with an unknown policy", (engine) => engine.rewind("r", 1, { children: "keep" })],
  ["retry with an unknown option", (engine) => engine.retry("r", { from: 1 })],
  ["fork with tags that are a number", (engine) => engine.fork("r", null, { tags: 1 })],
  ["migrate with a map that is a list", (engine) => engine.migrate("r", 2, [])],
  ["restart without a plan", (engine) => engine.restart("r", 2, {})],
  ["prune with a retention that is text", (engine) => engine.prune({ retention: "1 day" })],
  ["prune with a callback that is text", (engine) => engine.prune({ onProgress: "log" })],
  ["register of nothing", (engine) => engine.register()],
  ["a document without an id", (engine) => engine.documents.revise(null, { kind: "k", value: 1 })],
  ["a document with an attribute that is a list", (engine) => engine.documents.revise(null, withAttribute([]))],
  ["a list of documents of no kind", (engine) => engine.documents.list()],
  ["shutdown with a time that is text", (engine) => engine.shutdown({ drainMs: "soon" })],
  ["a listener that is text", (engine) => engine.on("record", "log")],
  ["a listener of an unknown event", (engine) => engine.on("run.finished", () => undefined)],
];

/** The engine as plain JavaScript has it. */
type Untyped = Methods<Engine> & {
  readonly deadLetters: Methods<Engine["deadLetters"]>;
  readonly documents: Methods<Engine["documents"]>;
};
type Methods<Api> = { readonly [Name in keyof Api]: (...args: readonly unknown[]) => unknown };

function sendOp(fields: object): object {
  const post = { kind: "message", to: "r", id: "m", name: "m", value: null, at: 1, from: null };
  return { kind: "send", post: { ...post, onTargetTerminated: "discard", ...fields } };
}

function withAttribute(a: unknown): object {
  return { kind: "k", id: "d", runId: null, value: 1, attributes: { a } };
}

function throwing(): object {
  return Object.defineProperty({}, "id", {
    enumerable: true,
    get() {
      throw new Error("no id");
    },
  });
}

describe.each(TEST_STORES)("a call with bad arguments, on the store $name", ({ create }) => {
  it.each(BAD_CALLS)("%s is rejected with a code, and the engine continues", async (_, call) => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [echo] });
    const before = engine.start(echo, "before", { id: "before" });
    const failed = Promise.resolve().then(() => call(engine as unknown as Untyped));
    const after = engine.start(echo, "after", { id: "after" });
    const error = await failed.then(
      (value) => new Error(`returned ${JSON.stringify(value)}`),
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(PawlError);
    expect(Object.keys(ERRORS)).toContain((error as PawlError).code);
    expect((error as PawlError).code).not.toBe("ENGINE_BROKEN");
    expect(await cluster.result(await before)).toBe("before");
    expect(await cluster.result(await after)).toBe("after");
    expect(cluster.log.filter(({ level }) => level === "error")).toEqual([]);
    expect((await engine.list()).items.map(({ id }) => id).sort()).toEqual(["after", "before"]);
  });
});
