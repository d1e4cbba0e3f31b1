import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { rolldown } from "rolldown";
import { afterAll, beforeAll, expect, it } from "vitest";
import { append, create, record } from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { sqliteStore } from "./index.ts";

/** The folder from which the processes resolve the driver, as the sources do. */
const CACHE = fileURLToPath(new URL("../../../../../node_modules/.cache", import.meta.url));
const ENTRY = fileURLToPath(new URL("./index.ts", import.meta.url));
const world = new ManualWorld(1_700_000_000_000);
let folder = "";

beforeAll(async () => {
  mkdirSync(CACHE, { recursive: true });
  folder = mkdtempSync(join(CACHE, "store-"));
  const bundle = await rolldown({ input: ENTRY, platform: "node", external: /^(node:|@photostructure)/ });
  await bundle.write({ dir: folder, format: "esm", entryFileNames: "store.mjs" });
  await bundle.close();
  writeFileSync(join(folder, "writer.mjs"), WRITER);
  writeFileSync(join(folder, "victim.mjs"), VICTIM);
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PRELUDE = `
import { sqliteStore } from "./store.mjs";
const [path, name, count] = process.argv.slice(2);
const world = { now: () => Date.now(), every: () => () => {} };
const run = (id, over) => ({ kind: "create", run: { id, workflow: "order", version: 1, input: null, tags: [], parent: null,
  createdAt: 1, startId: id, owner: name, startAt: 1, ...over } });
const record = (seq) => ({ seq, location: "s#" + seq, kind: "step", outcome: "ok", payload: '"v"', attempts: 1, startedAt: 1,
  at: 1, detail: null });
const append = (runId, over) => ({ kind: "append", runId, epoch: 1, turn: 0, records: [], trim: [], taken: [], posts: [], documents: [],
  state: null, inbox: null, notBefore: null, transaction: null, ...over });
`;

/** Writes to own runs, sends to a shared run, and claims shared runs. Retries when the file is busy. */
const WRITER = `${PRELUDE}
let busy = 0;
async function until(work) {
  for (;;) {
    try { return await work(); } catch (error) {
      if (error.code !== "STORE_BUSY" || error.outcome !== "notApplied") throw error;
      busy += 1;
      await new Promise((resolve) => setImmediate(resolve));
    }
  }
}
const store = sqliteStore(path);
await until(() => store.open(world));
await until(() => store.heartbeat(name, 60_000));
await until(() => store.commit([run(name), run("shared", { owner: null, startId: "shared", workflow: "other" })]));
let claimed = 0;
for (let n = 1; n <= Number(count); n += 1) {
  const message = { kind: "message", to: "shared", id: name + "-" + n, name: "m", value: "1", at: 1, onTargetTerminated: "discard", from: null };
  const { answers } = await until(() => store.commit([
    append(name, { records: [record(n)] }),
    { kind: "post", post: message },
    run(name + "-free-" + n, { owner: null, workflow: "free" }),
  ]));
  if (answers.some((answer) => answer.kind !== "applied" || answer.again)) throw new Error(JSON.stringify(answers));
  claimed += (await until(() => store.claim({ worker: name, limit: 2, workflows: [{ name: "free", version: 1 }] }))).length;
  if (n % 10 === 0) await until(() => store.heartbeat(name, 60_000));
  await until(() => store.load("shared"));
}
await store.close();
console.log(JSON.stringify({ claimed, busy }));
`;

/** Commits once, then dies as set by the fourth argument: inside the next commit, or between its durability and its reply. */
const VICTIM = `${PRELUDE}
const store = sqliteStore(path);
await store.open(world);
await store.commit([run("r"), append("r", { records: [record(1)] })]);
const die = () => process.kill(process.pid, "SIGKILL");
const last = name === "inside" ? { ...record(1000), get location() { return die(); } } : record(1000);
const records = Array.from({ length: 998 }, (_, index) => record(index + 2));
await store.commit([append("r", { records }), run("s"), append("r", { records: [last] })]);
die();
`;

async function execute(
  script: string,
  ...args: string[]
): Promise<{ code: number | null; signal: string | null; out: string }> {
  const child = spawn(process.execPath, [join(folder, script), ...args], { stdio: ["ignore", "pipe", "inherit"] });
  let out = "";
  child.stdout.on("data", (part: Buffer) => {
    out += part.toString();
  });
  const [code, signal] = await new Promise<[number | null, string | null]>((resolve) =>
    child.on("close", (...end) => resolve(end)),
  );
  return { code, signal, out };
}

it("four processes on one file complete their work with no error except a busy file", async () => {
  const path = join(folder, "shared.db");
  const count = 150;
  const names = ["a", "b", "c", "d"];
  const ends = await Promise.all(names.map((name) => execute("writer.mjs", path, name, String(count))));
  expect(ends.map(({ code, signal }) => ({ code, signal }))).toEqual(names.map(() => ({ code: 0, signal: null })));
  const store = sqliteStore(path);
  await store.open(world);
  const shared = await store.reader.inbox("shared");
  expect(new Set(shared.map((entry) => entry.id)).size).toBe(names.length * count);
  expect(shared.map((entry) => entry.n)).toEqual(shared.map((_, index) => index + 1));
  for (const name of names) {
    const journal = await store.reader.journal(name, { afterSeq: 0, limit: 1000 });
    expect(journal.map(({ seq }) => seq)).toEqual(Array.from({ length: count }, (_, index) => index + 1));
  }
  const claimed = ends.reduce((sum, { out }) => sum + (JSON.parse(out) as { claimed: number }).claimed, 0);
  expect(claimed).toBe(await store.reader.count({ workflow: "free", status: ["running"] }));
  await store.close();
});

it("a commit has no effect if the process is killed inside it", async () => {
  const path = join(folder, "inside.db");
  expect(await execute("victim.mjs", path, "inside")).toMatchObject({ signal: "SIGKILL" });
  const store = sqliteStore(path);
  await store.open(world);
  expect((await store.reader.journal("r", { afterSeq: 0, limit: 10 })).map(({ seq }) => seq)).toEqual([1]);
  expect(await store.reader.get("s")).toBe(null);
  const { answers } = await store.commit([append("r", { records: [record(2)] }), create("s")]);
  expect(answers).toEqual([1, 2].map(() => ({ kind: "applied", post: null, again: false })));
  await store.close();
});

it("a commit is complete if the process is killed before the reply, and a repeated batch gets the first answers", async () => {
  const path = join(folder, "after.db");
  expect(await execute("victim.mjs", path, "after")).toMatchObject({ signal: "SIGKILL" });
  const store = sqliteStore(path);
  await store.open(world);
  expect(await store.reader.journal("r", { afterSeq: 999, limit: 10 })).toMatchObject([{ seq: 1000 }]);
  const { answers } = await store.commit([append("r", { records: [record(1000)] }), create("s", { startId: "s" })]);
  expect(answers).toEqual([1, 2].map(() => ({ kind: "applied", post: null, again: true })));
  await store.close();
});

it("a store looks five times as often for commits of other processes while it finds some", async () => {
  const path = join(folder, "polled.db");
  let timer = { ms: 0, look: (): void => undefined };
  const store = sqliteStore(path);
  await store.open({
    now: world.now,
    every(ms, look) {
      timer = { ms, look };
      return () => undefined;
    },
  });
  const other = sqliteStore(path);
  await other.open(world);
  let hints = 0;
  store.watch(() => {
    hints += 1;
  });
  timer.look();
  expect([timer.ms, hints]).toEqual([100, 1]);
  await other.commit([create("polled")]);
  timer.look();
  expect([timer.ms, hints]).toEqual([20, 2]);
  for (let n = 0; n < 4; n += 1) timer.look();
  expect(timer.ms).toBe(20);
  timer.look();
  expect([timer.ms, hints]).toEqual([100, 2]);
  await other.close();
  await store.close();
});
