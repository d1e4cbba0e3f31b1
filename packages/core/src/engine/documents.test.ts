import { describe, expect, it, onTestFinished } from "vitest";
import { type Client, type ProgramFactory, programWorkflow, workflow } from "../index.ts";
import { atEachCommit } from "../testing/at-each-commit.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

const KIND = "question";

/** Asks a question, a document, and waits for its answer for a minute; then asks the next. It ends after `input` questions. */
const asking: ProgramFactory = (host) => {
  let asked = 0;
  let total = 0;
  const answers: unknown[] = [];
  const ask = (): void => {
    asked += 1;
    if (asked > total) {
      host.finish({ kind: "completed", output: answers });
      return;
    }
    const place = `ask-${asked}`;
    const id = `${host.runId} ${place} ${host.edition}`;
    const end = (state: string, answer: unknown): void => {
      host.mark(KIND, id, { d: state });
      answers.push(answer);
      ask();
    };
    const document = {
      kind: KIND,
      id,
      runId: host.runId,
      body: host.encode(place, "question"),
      attributes: { d: "open" },
    };
    host.issue({
      kind: "wait",
      record: "listen",
      location: place,
      issuedAt: host.now(),
      arms: [{ kind: "message", name: place, as: "answer" }],
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

/** Their states, in the order of their ids. */
async function states({ documents }: Pick<Client, "documents">): Promise<string[]> {
  const { items } = await documents.list({ kind: KIND });
  return items.map(({ id, attributes }) => `${id}: ${attributes.d}`);
}

describe.each(TEST_STORES)("documents of a program, on the store $name", ({ create }) => {
  it("are there with the commit of what made the program ask, and marked with the commit of what came", async () => {
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

  it("say what became of each, at whichever commit the process dies", async () => {
    const crashes = await atEachCommit(async (crashAt) => {
      const cluster = await create(onTestFinished);
      const client = await cluster.client();
      const doomed = await cluster.engine({ workflows: [questions], crashAt });
      const run = await client.start(questions, 3, { id: "r" });
      await cluster.world.advance("2 s");
      await run.send("ask-1", "yes");
      await cluster.world.advance("61 s");
      const heir = await cluster.engine({ workflows: [questions] });
      await cluster.world.advance("6 s");
      await run.send("ask-3", "no", { id: "last" });
      await cluster.world.advance("3 minutes");
      expect(await run.status()).toBe("completed");
      const ends = (await run.result()).map((answer) => (answer === null ? "late" : "done"));
      expect(await states(heir)).toEqual(ends.map((end, index) => `r ask-${index + 1} 0: ${end}`));
      return cluster.crashed(doomed);
    });
    expect(crashes).toBeGreaterThanOrEqual(6);
  });

  it("that are open are cancelled with a run that is cancelled, and a paused run keeps them", async () => {
    const cluster = await create(onTestFinished);
    const engine = await cluster.engine({ workflows: [questions] });
    const run = await engine.start(questions, 1, { id: "r" });
    await cluster.world.settle();
    await run.pause();
    expect(await states(engine)).toEqual(["r ask-1 0: open"]);
    await run.cancel();
    expect(await states(engine)).toEqual(["r ask-1 0: cancelled"]);
  });

  it("that a rewind takes away are cancelled, and what is open then is asked anew", async () => {
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

  it("of a fork are its own", async () => {
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

  it("are revised by one of two clients, and the run is told in the same commit", async () => {
    const cluster = await create(onTestFinished);
    const [ann, bob] = [await cluster.client(), await cluster.client()];
    const run = await ann.start(questions, 1, { id: "r" });
    await cluster.engine({ workflows: [questions] });
    await cluster.world.advance("2 s");
    const seen = await ann.documents.get<string>(KIND, "r ask-1 0");
    if (seen === null) throw new Error("there is no question");
    const answered = (by: string) => ({ kind: KIND, id: seen.id, runId: "r", value: by, attributes: { d: "done" } });
    const told = (by: string) => ({ runId: "r", message: "ask-1", value: by });
    const outcomes = await Promise.all([
      ann.documents.revise(seen, answered("ann"), told("ann")),
      bob.documents.revise(seen, answered("bob"), told("bob")),
    ]);
    expect(outcomes.map(({ kind }) => kind).sort()).toEqual(["changed", "done"]);
    await cluster.world.advance("2 s");
    const winner = outcomes[0].kind === "done" ? "ann" : "bob";
    expect(await run.result()).toEqual([winner]);
    expect(await ann.documents.get(KIND, seen.id)).toMatchObject({ value: winner });
    const read = await ann.documents.get(KIND, seen.id);
    expect(await ann.documents.revise(read, answered("eve"), told("eve"))).toEqual({
      kind: "ended",
      status: "completed",
    });
  });
});

describe.each(TEST_STORES)("a run that begins again, on the store $name", ({ create }) => {
  it("goes on in another version with what was made of it, and keeps what it has open", async () => {
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

  it("stays as it is where the plan throws, and where it has ended", async () => {
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

  it("is refused where it has done what it may have to undo", async () => {
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
