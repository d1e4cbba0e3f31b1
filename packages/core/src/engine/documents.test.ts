import { describe, expect, it, onTestFinished } from "vitest";
import { type Client, type ProgramFactory, programWorkflow, workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const KIND = "question";

/** Creates a document per question and waits one minute for its answer, then asks the next. Ends after `input` questions. */
const asking: ProgramFactory = (host) => {
  let asks = 0;
  let total = 0;
  const answers: unknown[] = [];
  const ask = (): void => {
    asks += 1;
    if (asks > total) {
      host.finish({ kind: "completed", output: answers });
      return;
    }
    const location = `ask-${asks}`;
    const id = `${host.runId} ${location} ${host.edition}`;
    const end = (state: string, answer: unknown): void => {
      host.mark(KIND, id, { d: state });
      answers.push(answer);
      ask();
    };
    const document = {
      kind: KIND,
      id,
      runId: host.runId,
      body: host.encode(location, "question"),
      attributes: { d: "open" },
    };
    host.issue({
      kind: "wait",
      record: "listen",
      location,
      issuedAt: host.now(),
      arms: [{ kind: "message", name: location, as: "answer" }],
      count: 1,
      many: false,
      until: host.now() + 60_000,
      atDeadline: { outcome: "timedOut", detail: null },
      documents: [document],
      settle: (completion) => {
        if (completion.outcome === "timedOut") end("late", null);
        if (completion.outcome === "ok") end("done", (completion.value as { readonly value: unknown }).value);
      },
    });
  };
  return {
    start(input) {
      total = input as number;
      ask();
    },
  };
};
const questions = programWorkflow<number, unknown[]>("questions", asking);

/** Returns the documents' states, ordered by id. */
async function states({ documents }: Pick<Client, "documents">): Promise<string[]> {
  const { items } = await documents.list({ kind: KIND });
  return items.map(({ id, attributes }) => `${id}: ${attributes.d}`);
}

describe.each(TEST_STORES)("documents of a program, on the store $name", ({ create }) => {
  it("a document is created with the commit that issued its wait, and marked with the commit that ended the wait", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [questions] });
    const run = await engine.start(questions, 2, { id: "r" });
    await cluster.world.settle();
    expect(await states(engine)).toEqual(["r ask-1 0: open"]);
    await run.send("ask-1", "yes");
    await cluster.world.settle();
    expect(await states(engine)).toEqual(["r ask-1 0: done", "r ask-2 0: open"]);
    await cluster.world.advance("2 minutes");
    expect(await cluster.result(run)).toEqual(["yes", null]);
    expect(await states(engine)).toEqual(["r ask-1 0: done", "r ask-2 0: late"]);
  });

  it("each document has the state of its wait's end, whichever commit the process crashes at", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const client = await cluster.client();
      const doomed = await cluster.engine({ workflows: [questions], crashAt });
      const run = await client.start(questions, 3, { id: "r" });
      await cluster.world.advance("2 s");
      await run.send("ask-1", "yes");
      await cluster.world.advance("61 s");
      const successor = await cluster.engine({ workflows: [questions] });
      await cluster.world.advance("6 s");
      await run.send("ask-3", "no", { id: "last" });
      await cluster.world.advance("3 minutes");
      expect(await run.status()).toBe("completed");
      const ends = (await run.result()).map((answer) => (answer === null ? "late" : "done"));
      expect(await states(successor)).toEqual(ends.map((end, index) => `r ask-${index + 1} 0: ${end}`));
      return cluster.crashed(doomed);
    });
    expect(crashes).toBeGreaterThanOrEqual(6);
  });

  it("open documents stay when a run is paused, and are cancelled when it is cancelled", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [questions] });
    const run = await engine.start(questions, 1, { id: "r" });
    await cluster.world.settle();
    await run.pause();
    expect(await states(engine)).toEqual(["r ask-1 0: open"]);
    await run.cancel();
    expect(await states(engine)).toEqual(["r ask-1 0: cancelled"]);
  });

  it("a rewind cancels the documents it removed, and open questions are asked again", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [questions] });
    const run = await engine.start(questions, 2, { id: "r" });
    await cluster.world.settle();
    await run.send("ask-1", "yes");
    await cluster.world.settle();
    await run.rewind("ask-1", { messages: "drop" });
    await cluster.world.advance("2 s");
    expect(await states(engine)).toEqual(["r ask-1 0: done", "r ask-1 1: open", "r ask-2 0: cancelled"]);
    await run.send("ask-1", "no");
    await cluster.world.settle();
    expect((await states(engine)).slice(1)).toEqual(["r ask-1 1: done", "r ask-2 0: cancelled", "r ask-2 1: open"]);
  });

  it("a fork has its own documents", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [questions] });
    const run = await engine.start(questions, 2, { id: "r" });
    await cluster.world.settle();
    await run.send("ask-1", "yes");
    await cluster.world.settle();
    await engine.fork("r", null, { id: "f" });
    await cluster.world.advance("2 s");
    const open = ["r ask-1 0: done", "r ask-2 0: open"];
    expect(await states(engine)).toEqual([expect.stringMatching(/^f ask-2 \d: open$/), ...open]);
  });

  it("only one of two concurrent revisions of a document succeeds, and its message is sent in the same commit", async () => {
    const cluster = await create(onTestFinished);
    const [ann, bob] = [await cluster.client(), await cluster.client()];
    const run = await ann.start(questions, 1, { id: "r" });
    await cluster.engine({ workflows: [questions] });
    await cluster.world.advance("2 s");
    const seen = await ann.documents.get<string>(KIND, "r ask-1 0");
    if (seen === null) throw new Error("question not found");
    const answered = (by: string) => ({ kind: KIND, id: seen.id, runId: "r", value: by, attributes: { d: "done" } });
    const answerTo = (by: string) => ({ runId: "r", message: "ask-1", value: by });
    const outcomes = await Promise.all([
      ann.documents.revise(seen, answered("ann"), answerTo("ann")),
      bob.documents.revise(seen, answered("bob"), answerTo("bob")),
    ]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["changed", "done"]);
    await cluster.world.advance("2 s");
    const winner = outcomes[0].kind === "done" ? "ann" : "bob";
    expect(await run.result()).toEqual([winner]);
    expect(await ann.documents.get(KIND, seen.id)).toMatchObject({ value: winner });
    const read = await ann.documents.get(KIND, seen.id);
    expect(await ann.documents.revise(read, answered("eve"), answerTo("eve"))).toEqual({
      kind: "ended",
      status: "completed",
    });
  });
});

describe.each(TEST_STORES)("restart in another version, on the store $name", ({ create }) => {
  it("a restarted run continues in another version with the planned input, and keeps its open documents", async () => {
    const cluster = await create(onTestFinished);
    const second = programWorkflow<number, unknown[]>("questions", asking, { version: 2 });
    const engine = await cluster.engine({ workflows: [questions, second] });
    const run = await engine.start(questions, 3, { id: "r" });
    await cluster.world.settle();
    await run.send("ask-1", "yes");
    await cluster.world.settle();
    const plan = ({ run: read, records }: { run: { version: number }; records: readonly { location: string }[] }) => ({
      input: 2,
      result: [read.version, records.length],
    });
    expect(await engine.restart("r", 2, { plan, id: "once" })).toEqual([1, 1]);
    expect(await engine.restart("r", 2, { plan, id: "once" })).toEqual([1, 1]);
    await cluster.world.advance("2 s");
    expect(await engine.get("r")).toMatchObject({ version: 2, input: 2, generation: 1 });
    expect((await run.journal()).map(({ kind, detail }) => `${kind} ${detail}`)).toEqual(["operator migrate"]);
    expect(await states(engine)).toEqual(["r ask-1 0: done", "r ask-2 0: open"]);
  });

  it("a restart changes nothing when its plan throws or the run has ended", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [questions] });
    const run = await engine.start(questions, 1, { id: "r" });
    await cluster.world.settle();
    const refusing = () => {
      throw new Error("no");
    };
    await expect(engine.restart("r", 2, { plan: refusing })).rejects.toThrow("no");
    await expect(engine.restart("r", 0, { plan: refusing })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    await expect(engine.restart("none", 2, { plan: refusing })).rejects.toMatchObject({ code: "RUN_NOT_FOUND" });
    expect(await engine.get("r")).toMatchObject({ version: 1, generation: 0, status: "suspended" });
    await run.cancel();
    await expect(engine.restart("r", 2, { plan: refusing })).rejects.toMatchObject({ code: "RUN_ENDED" });
  });

  it("a restart is rejected when the run has steps with rollbacks", async () => {
    const cluster = await create(onTestFinished);
    const booking = workflow("booking", async (ctx) => {
      await ctx.step("book", () => "booked", { rollback: () => undefined });
      await ctx.listen("go");
    });
    const engine = await cluster.engine({ workflows: [booking] });
    await engine.start(booking, undefined, { id: "r" });
    await cluster.world.settle();
    const plan = () => ({ input: undefined, result: null });
    await expect(engine.restart("r", 2, { plan })).rejects.toMatchObject({ code: "RUN_UNDOABLE" });
    expect(await engine.get("r")).toMatchObject({ version: 1, generation: 0, status: "suspended" });
  });
});
