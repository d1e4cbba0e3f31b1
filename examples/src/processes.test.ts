import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

/** Examples that need several processes, executed as compiled programs. */

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const PROGRAM_MS_MAX = 90_000;

interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly output: string;
}

class Program {
  readonly #child: ChildProcess;
  readonly ended: Promise<Ended>;
  #output = "";
  #onOutput: () => void = () => {};

  constructor(file: string, ...args: readonly string[]) {
    this.#child = spawn(process.execPath, [join(ROOT, "examples", "dist", file), ...args], {
      cwd: folder,
      stdio: ["ignore", "pipe", "pipe"],
      timeout: PROGRAM_MS_MAX,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        this.#output += text;
        this.#onOutput();
      });
    }
    this.ended = new Promise((resolve) => {
      this.#child.on("close", (code, signal) => resolve({ code, signal, output: this.#output }));
    });
  }

  /** Resolves when the program has printed the text or has exited. */
  async printed(text: string): Promise<void> {
    const seen = new Promise<void>((resolve) => {
      this.#onOutput = () => {
        if (this.#output.includes(text)) resolve();
      };
      this.#onOutput();
    });
    await Promise.race([seen, this.ended]);
    expect(this.#output).toContain(text);
  }

  signal(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }
}

let folder = "";

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "pawl-examples-"));
  const tsc = join(ROOT, "node_modules", "typescript", "bin", "tsc");
  const built = spawnSync(process.execPath, [tsc, "-b", "examples"], { cwd: ROOT, encoding: "utf8" });
  expect(built.stdout).toBe("");
}, 180_000);

afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Lines of records such as `3 order step charge ok 12 ms`, without the time. */
function records(output: string): readonly string[] {
  return [...output.matchAll(/^ *(\d+) (order|shipment) +(\w+) +(\S+) +(ok|failed|timedOut) +\d+ ms(.*)$/gm)].map(
    ([, seq, workflow, kind, location, outcome, note]) =>
      `${workflow} ${seq} ${kind} ${location} ${outcome}${note === "" ? "" : " kept"}`,
  );
}

const WHOLE = [
  "order 1 step reserve ok",
  "order 2 retry charge failed",
  "order 3 step charge ok",
  "order 4 sleep cool-off ok",
  "order 5 listen approve ok",
  "order 6 spawn shipment ok",
  "order 7 child shipment/result ok",
  "order 8 step notify ok",
  "shipment 1 step pack ok",
  "shipment 2 step label ok",
];

const BODIES = { reserve: "» reserving", charge: "try 2", pack: "» packing", label: "» printing", notify: "» telling" };

describe("the demo", () => {
  it("the demo resumes after a crash and executes no completed step again", async () => {
    const crashed = await new Program("demo.js", "--file", "crash.db", "--crash").ended;
    expect(crashed.signal).toBe("SIGKILL");
    expect(crashed.output).toContain("crash.db");
    const before = records(crashed.output);
    expect(before.length).toBeGreaterThan(0);

    const again = await new Program("demo.js", "--file", "crash.db").ended;
    expect(again.output).toContain('order-1 is finished: {"status":"shipped"');
    expect(again.code).toBe(0);
    const after = records(again.output);
    const kept = after.filter((line) => line.endsWith(" kept")).map((line) => line.replace(/ kept$/, ""));
    expect(kept).toEqual(expect.arrayContaining([...before]));
    expect(after.map((line) => line.replace(/ kept$/, "")).sort()).toEqual(WHOLE);
    for (const [step, body] of Object.entries(BODIES)) {
      const isKept = kept.some((line) => line.includes(` step ${step} `));
      expect(`${step} ${again.output.includes(body)}`).toBe(`${step} ${!isKept}`);
      if (isKept) expect(again.output).toMatch(new RegExp(`not run again: .*${step}`));
    }
  }, 180_000);

  it("the demo stops at Ctrl-C, resumes when it is started again, and then starts a new order", async () => {
    const stopped = new Program("demo.js", "--file", "stop.db", "--no-approve");
    await stopped.printed("reserve ");
    stopped.signal("SIGINT");
    expect(await stopped.ended).toMatchObject({ code: 0, output: expect.stringContaining("Start it again") });

    const again = await new Program("demo.js", "--file", "stop.db").ended;
    expect(again.output).toMatch(/reserve .* kept/);
    expect(again.output).toContain('order-1 is finished: {"status":"given up: nobody approved"}');

    const fresh = new Program("demo.js", "--file", "stop.db", "--no-approve");
    await fresh.printed("reserve ");
    fresh.signal("SIGTERM");
    expect(await fresh.ended).toMatchObject({ code: 0, output: expect.stringContaining("order-2 starts") });

    expect((await new Program("demo.js", "--file", "stop.db", "--reset").ended).output).toContain("deleted");
    expect(existsSync(join(folder, "stop.db"))).toBe(false);
  }, 180_000);

  it("the demo prints its help and rejects unknown options", async () => {
    expect(await new Program("demo.js", "--help").ended).toMatchObject({
      code: 0,
      output: expect.stringContaining("--crash"),
    });
    expect(await new Program("demo.js", "--fast").ended).toMatchObject({
      code: 2,
      output: expect.stringContaining("--fast"),
    });
  }, 60_000);
});

describe("two processes on one file", () => {
  it("a client process starts a run and a worker process executes it", async () => {
    const worker = new Program("two-processes/worker.js", "two.db");
    await worker.printed("is ready on two.db");
    const client = await new Program("two-processes/client.js", "two.db").ended;
    expect(client.output).toMatch(/^hello ann, from process \d+\nseen by process \d+\n$/);
    const [composer, reader] = client.output.match(/\d+/g) ?? [];
    expect(composer).not.toBe(reader);

    worker.signal("SIGTERM");
    expect(await worker.ended).toMatchObject({ code: 0, output: expect.stringContaining("worker: done") });
  }, 120_000);
});
