import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { append, completed, create, newRun, T0 } from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { postgresStore } from "./index.ts";

const postgres = await freshPostgres();

describe.runIf(postgres !== null)("runs of one commit in PostgreSQL", () => {
  const fixture = postgres as PostgresFixture;
  afterAll(() => fixture.close());

  it("children started by a commit that ends their parent are cancelled, unless onClose is abandon", async () => {
    const { schema, dispose } = await fixture.schema();
    const store = postgresStore(fixture.pool, { schema, listen: false });
    onTestFinished(async () => {
      await store.close();
      await dispose();
    });
    await store.open(new ManualWorld(T0));
    await store.heartbeat("w", 3_600_000);
    const parents = ["p", "q"];
    await store.commit(parents.map((id) => create(id, { owner: "w" })));
    const child = (parent: string, onClose: "cancel" | "abandon") =>
      newRun(`${parent}-${onClose}`, { parent: { runId: parent, location: onClose, onClose } });
    await store.commit(
      parents.flatMap((id) => [
        append(id, {
          posts: (["cancel", "abandon"] as const).map((policy) => ({ kind: "start", run: child(id, policy) })),
        }),
        append(id, { state: completed(), posts: [{ kind: "closeChildren", of: id, reason: null, at: T0 }] }),
      ]),
    );
    const kinds = async (id: string) => (await store.load(id))?.inbox.map(({ kind }) => kind);
    for (const id of parents) {
      expect((await store.load(id))?.run.status).toBe("completed");
      expect(await kinds(`${id}-cancel`)).toEqual(["cancel"]);
      expect(await kinds(`${id}-abandon`)).toEqual([]);
    }
  });
});
