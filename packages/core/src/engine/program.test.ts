import { afterEach, describe, expect, it } from "vitest";
import { type Completion, type ProgramFactory, programWorkflow, type StepCommand } from "../index.ts";
import { DEFAULT_RETRY, resolveRetry } from "../model/retry.ts";
import { TEST_STORES } from "../testing/test-stores.ts";

/** The state of the program below. */
interface Tally {
  readonly next: number;
  readonly sum: number;
}

interface Watched {
  /** The snapshot of each start. Null if there was none. */
  readonly starts: Array<Tally | null>;
  readonly bodies: number[];
  readonly delivered: number[];
}

/** Adds the results of `steps` sequential steps. Writes a snapshot every third step. */
function tallyProgram(watched: Watched, work: (n: number) => unknown): ProgramFactory {
  return (host) => {
    let steps = 0;
    let state: Tally = { next: 1, sum: 0 };
    const advance = (n: number, completion: Completion): void => {
      watched.delivered.push(n);
      if (completion.outcome !== "ok") {
        host.finish({ kind: "failed", error: new Error("a step failed") });
        return;
      }
      state = { next: n + 1, sum: state.sum + Number(completion.value) };
      if (n % 3 === 0) host.snapshot(state);
      ask();
    };
    const ask = (): void => {
      const n = state.next;
      if (n > steps) {
        host.finish({ kind: "completed", output: state.sum });
        return;
      }
      const command: StepCommand = {
        kind: "step",
        record: "step",
        location: `add-${n}`,
        issuedAt: host.now(),
        body: () => {
          watched.bodies.push(n);
          return work(n);
        },
        retry: resolveRetry({ initialMs: 1000, maxAttempts: 4, jitter: 0 }, DEFAULT_RETRY),
        shouldRetry: null,
        timeoutMs: null,
        retryOnTimeout: false,
        ephemeral: false,
        idempotencyKey: null,
        attempts: 0,
        retryAt: 0,
        settle: (completion) => advance(n, completion),
      };
      host.issue(command);
    };
    return {
      start(input, snapshot) {
        steps = input as number;
        watched.starts.push(snapshot === null ? null : (snapshot.state as Tally));
        if (snapshot !== null) state = snapshot.state as Tally;
        ask();
      },
    };
  };
}

function watching(): Watched {
  return { starts: [], bodies: [], delivered: [] };
}

for (const kind of TEST_STORES) {
  describe(`programs with snapshots, on the store '${kind.name}'`, () => {
    const closers: Array<() => Promise<void>> = [];
    afterEach(async () => {
      for (const close of closers.splice(0)) await close();
    });

    it("a program rewound to before its snapshot is replayed from the start, and writes snapshots again", async () => {
      const cluster = await kind.create((close) => closers.push(close));
      const watched = watching();
      const tally = programWorkflow<number, number>(
        "tally",
        tallyProgram(watched, (n) => n),
      );
      const engine = await cluster.engine({ workflows: [tally] });
      const run = await engine.start(tally, 8);
      expect(await cluster.result(run)).toBe(36);
      watched.bodies.length = 0;
      await run.rewind("add-5");
      expect(await cluster.result(run)).toBe(36);
      expect(watched.bodies).toEqual([5, 6, 7, 8]);
      expect(watched.starts.at(-1)).toBe(null);
      await run.rewind("add-8");
      expect(await cluster.result(run)).toBe(36);
      expect(watched.bodies).toEqual([5, 6, 7, 8, 8]);
    });

    it("a program writes the same journal as code", async () => {
      const cluster = await kind.create((close) => closers.push(close));
      const watched = watching();
      const tally = programWorkflow<number, number>(
        "tally",
        tallyProgram(watched, (n) => n),
      );
      const engine = await cluster.engine({ workflows: [tally] });
      const run = await engine.start(tally, 10);
      expect(await cluster.result(run)).toBe(55);
      expect((await run.journal()).map(({ location }) => location)).toEqual(
        Array.from({ length: 10 }, (_, i) => `add-${i + 1}`),
      );
    });

    it("a program resumes from its last snapshot and receives only the later records", async () => {
      const cluster = await kind.create((close) => closers.push(close));
      const before = watching();
      const stuck = new Promise<never>(() => undefined);
      const first = programWorkflow<number, number>(
        "tally",
        tallyProgram(before, (n) => (n === 9 ? stuck : n)),
      );
      const dead = await cluster.engine({ workflows: [first] });
      const run = await dead.start(first, 10, { id: "t" });
      await cluster.world.settle();
      expect(before.bodies).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);

      const after = watching();
      const second = programWorkflow<number, number>(
        "tally",
        tallyProgram(after, (n) => n),
      );
      const heir = await cluster.takeOver(dead, { workflows: [second] });
      expect(await cluster.finish(heir.run<number>(run.id))).toBe(55);
      expect(after.starts).toEqual([{ next: 7, sum: 21 }]);
      expect(after.delivered).toEqual([7, 8, 9, 10]);
      expect(after.bodies).toEqual([9, 10]);
    });

    it("maxRunDuration counts from a rewind, even if the rewind is before the snapshot", async () => {
      const cluster = await kind.create((close) => closers.push(close));
      let held: Array<() => void> = [];
      const work = (n: number): unknown => (n <= 3 ? n : new Promise<number>((resolve) => held.push(() => resolve(n))));
      const tally = programWorkflow<number, number>("tally", tallyProgram(watching(), work));
      const options = { workflows: [tally], maxRunDuration: "20 s" };
      const engine = await cluster.engine(options);
      await engine.start(tally, 4, { id: "r" });
      await cluster.world.advance("15 s");
      await engine.rewind("r", 0);
      await cluster.world.advance("1 s");
      held = [];
      const heir = await cluster.takeOver(engine, options);
      expect(await heir.run("r").status()).toBe("running");
      for (const release of held) release();
      expect(await cluster.finish(heir.run("r"))).toBe(10);
    });

    it("a step keeps its attempt count after a crash", async () => {
      const cluster = await kind.create((close) => closers.push(close));
      const watched = watching();
      let calls = 0;
      const tally = programWorkflow<number, number>(
        "tally",
        tallyProgram(watched, (n) => {
          if (n !== 4) return n;
          calls += 1;
          throw new Error(`try ${calls}`);
        }),
      );
      const dead = await cluster.engine({ workflows: [tally] });
      await dead.start(tally, 5, { id: "t" });
      await cluster.world.advance("1 s");
      expect(calls).toBe(2);
      const heir = await cluster.takeOver(dead, { workflows: [tally] });
      await cluster.world.advance("1 minute");
      expect(await heir.run("t").status()).toBe("failed");
      expect(calls).toBe(4);
      expect(
        (await heir.run("t").journal()).filter((record) => record.location === "add-4").map(({ attempts }) => attempts),
      ).toEqual([1, 2, 3, 4]);
    });
  });
}
