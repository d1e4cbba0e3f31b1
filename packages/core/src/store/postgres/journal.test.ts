import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { execute, freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { append, create, ORDER, record, records } from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import type { PostgresClient, PostgresPool, PostgresResult } from "./driver.ts";
import { postgresStore } from "./index.ts";
import { CONFLICT_STATE } from "./schema/commit.ts";

const postgres = await freshPostgres();

interface Statement {
  readonly text: string;
  readonly values: unknown[] | undefined;
  send(): Promise<PostgresResult>;
}

type Hook = (statement: Statement) => Promise<PostgresResult>;

/** A pool whose statements pass through `hook`. */
function hooked(pool: PostgresPool, hook: Hook): PostgresPool {
  const wrap = (client: PostgresClient): PostgresClient =>
    new Proxy(client, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (name !== "query") return typeof member === "function" ? member.bind(target) : member;
        return (text: string, values?: unknown[]) => hook({ text, values, send: () => target.query(text, values) });
      },
    });
  return { connect: async () => wrap(await pool.connect()), end: () => pool.end(), on: pool.on.bind(pool) };
}

async function open({ pool, schema }: PostgresFixture, hook: Hook = ({ send }) => send()) {
  const own = await schema();
  const store = postgresStore(hooked(pool, hook), { schema: own.schema, listen: false });
  await store.open(new ManualWorld(1_700_000_000_000));
  onTestFinished(async () => {
    await store.close();
    await own.dispose();
  });
  await store.heartbeat("w", 3_600_000);
  await store.commit([create("r", { owner: "w" }), append("r", { records: [record(1)] })]);
  return { store, schema: own.schema };
}

/** Adds records by a direct call, as a commit does that was sent earlier and arrives late. */
const addCall = (schema: string, seqs: readonly number[]): string => {
  const array = (value: (seq: number) => unknown): string => `'{${seqs.map(value).join(",")}}'`;
  const journal = [() => "r", (seq: number) => seq, () => "l", () => "step", () => '""', () => 1].map(array);
  const rest = [() => 0, () => 0, () => '""', () => "null"].map(array);
  const columns = [...journal, "0", ...rest].join(", ");
  return `SELECT ${schema}.commit_checked(NULL, NULL, '{r}', '{1}', ${columns}${", NULL".repeat(20)})`;
};

const WRITES = /\.(?:commit|append_record)/;

describe.runIf(postgres !== null)("a journal in PostgreSQL", () => {
  const fixture = postgres as PostgresFixture;
  afterAll(() => fixture.close());

  it("a commit with an outdated newest record adds no record twice", async () => {
    const { store, schema } = await open(fixture);
    const conflict = { code: CONFLICT_STATE };
    await expect(execute(fixture.pool, addCall(schema, [1]))).rejects.toMatchObject(conflict);
    await expect(execute(fixture.pool, addCall(schema, [2, 1]))).rejects.toMatchObject(conflict);
    await execute(fixture.pool, addCall(schema, [2, 3]));
    expect(Array.from((await store.load("r"))?.records ?? [], ({ seq }) => seq)).toEqual([1, 2, 3]);
  });

  it("a commit that waits for another's records sees them afterwards", async () => {
    const { store, schema } = await open(fixture);
    const call = addCall(schema, [2]);
    const first = await fixture.pool.connect();
    await first.query("BEGIN");
    await first.query(call);
    const second = expect(execute(fixture.pool, call)).rejects.toMatchObject({ code: CONFLICT_STATE });
    const waits = "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query = $1";
    const waiting = async (): Promise<number> =>
      ((await execute(fixture.pool, waits, [call])) as { readonly n: number }[])[0]?.n ?? 0;
    for (let round = 0; round < 2_000 && (await waiting()) === 0; round += 1);
    await first.query("COMMIT");
    first.release();
    await second;
    expect(Array.from((await store.load("r"))?.records ?? [], ({ seq }) => seq)).toEqual([1, 2]);
  });

  it.each([
    ["one record", [record(2)], []],
    ["two records", [record(2), record(3)], []],
    ["one record of a run that was read since", [record(2)], ["r"]],
  ])("a commit of %s that arrives after its retry and later commits is refused", async (_, added, read) => {
    let late: Statement | null = null;
    let isLost = false;
    const { store } = await open(fixture, async (statement) => {
      if (!isLost || late !== null || !WRITES.test(statement.text)) return await statement.send();
      late = statement;
      throw Object.assign(new Error("made to break"), { code: "ECONNRESET" });
    });
    isLost = true;
    const again = append("r", { records: added });
    await expect(store.commit([again])).rejects.toMatchObject({ name: "StoreError" });
    for (const runId of read) await store.load(runId);
    const { answers } = await store.commit([again]);
    expect(answers).toEqual([{ kind: "applied", post: null, again: false }]);
    const next = added.length + 2;
    await store.commit([append("r", { records: [record(next)] })]);
    const { text, values } = late as unknown as Statement;
    expect(await execute(fixture.pool, text, values)).toEqual([{ json: null }]);
    expect(Array.from((await store.load("r"))?.records ?? [], ({ seq }) => seq)).toEqual(
      Array.from({ length: next }, (_, index) => index + 1),
    );
  });

  it("a commit that arrives while it is decided again is detected", async () => {
    let late: Statement | null = null;
    let isLost = false;
    const { store } = await open(fixture, async (statement) => {
      if (isLost && late === null && WRITES.test(statement.text)) {
        late = statement;
        throw Object.assign(new Error("made to break"), { code: "ECONNRESET" });
      }
      const answer = await statement.send();
      if (isLost && late !== null && statement.text.includes(".read_rows")) {
        isLost = false;
        expect(await execute(fixture.pool, late.text, late.values)).not.toEqual([{ json: null }]);
      }
      return answer;
    });
    isLost = true;
    const again = append("r", { records: [record(2)] });
    await expect(store.commit([again])).rejects.toMatchObject({ name: "StoreError" });
    const { answers } = await store.commit([again]);
    expect(answers).toEqual([{ kind: "applied", post: null, again: true }]);
    expect(Array.from((await store.load("r"))?.records ?? [], ({ seq }) => seq)).toEqual([1, 2]);
  });

  it("outcomes and details are read as written, although the common ones are stored as empty text", async () => {
    const { store } = await open(fixture);
    const odd = [
      record(2, { detail: "" }),
      record(3, { detail: "\ufffe" }),
      record(4, { detail: "d", outcome: "timedOut" }),
      record(5, { outcome: "failed" }),
    ];
    await store.commit([append("r", { records: [record(2, { detail: "" })] })]);
    await store.commit([append("r", { records: odd.slice(1) })]);
    expect(await store.reader.journal("r", { afterSeq: 1, limit: 9 })).toEqual(odd);
  });

  it("a journal is read, cut and continued across the chunks of its index", async () => {
    const { store } = await open(fixture);
    await store.commit([append("r", { records: records(2, 100) })]);
    const seqs = async (afterSeq: number): Promise<readonly number[]> =>
      Array.from((await store.load("r", afterSeq))?.records ?? [], ({ seq }) => seq);
    for (const last of [14, 15, 16, 17, 31, 32, 99]) expect((await seqs(last))[0]).toBe(last + 1);
    expect(await seqs(100)).toEqual([]);
    const down = await store.reader.journal("r", { afterSeq: 14, limit: 20, newestFirst: true });
    expect(down.map(({ seq }) => seq)).toEqual(Array.from({ length: 20 }, (_, index) => 100 - index));
    await store.commit([append("r", { records: [record(101)], trim: [{ from: 10, to: 40 }] })]);
    expect((await seqs(0)).slice(7, 11)).toEqual([8, 9, 41, 42]);
    await store.retire("w");
    const [run] = await store.claim({ worker: "v", workflows: ORDER, limit: 1 });
    await store.commit([append("r", { epoch: run?.epoch ?? 0, records: [record(102)] })]);
    expect(await seqs(100)).toEqual([101, 102]);
  });

  it("a server with serializable transactions is rejected", async () => {
    const { schema } = await open(fixture);
    const url = `${fixture.url}?options=-c%20default_transaction_isolation%3Dserializable`;
    const store = postgresStore(url, { schema, listen: false });
    const opened = store.open(new ManualWorld(1_700_000_000_000));
    await expect(opened).rejects.toMatchObject({ code: "STORE_UNSUPPORTED" });
    await store.close();
  });
});
