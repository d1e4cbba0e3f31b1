import { once } from "node:events";
import { createServer, type Socket } from "node:net";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { execute, freshPostgres, type PostgresFixture } from "../../testing/postgres-database.ts";
import { create, message, post } from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { createPool, type PostgresClient, type PostgresPool } from "./driver.ts";
import { postgresStore } from "./index.ts";

/** These tests fail by an `error` event without a listener, which would end the process. */

const postgres = await freshPostgres();

function sent(kind: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(kind);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** A server that accepts connections and closes them at once. */
async function dyingServer(): Promise<string> {
  const greeting = [sent("R", Buffer.alloc(4)), sent("Z", Buffer.from("I"))];
  const farewell = sent("E", Buffer.from("SFATAL\0VFATAL\0C57P01\0Mterminating connection\0\0"));
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.once("data", () => socket.end(Buffer.concat([...greeting, farewell])));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  return `postgres://someone@127.0.0.1:${typeof address === "object" ? address?.port : 0}/db`;
}

it("a connection that ends while it is acquired is a store error", async () => {
  const store = postgresStore(await dyingServer());
  await expect(store.open(new ManualWorld(0))).rejects.toMatchObject({ name: "StoreError" });
  await store.close();
});

describe.runIf(postgres !== null)("a caller's connections without an error listener", () => {
  const fixture = postgres as PostgresFixture;
  afterAll(() => fixture.close());

  async function callersPool(): Promise<PostgresPool> {
    const pool = await createPool({ connectionString: fixture.url, max: 2, application_name: "connection errors" });
    onTestFinished(() => pool.end());
    return pool;
  }

  /** Resolves when the client has received the end of its connection. */
  async function ended(client: PostgresClient, pid: number): Promise<void> {
    const end = new Promise<void>((resolve) => void client.on("end", resolve));
    await execute(fixture.pool, `SELECT pg_terminate_backend(${pid})`);
    await end;
  }

  async function pidOf(client: PostgresClient): Promise<number> {
    const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
    return (rows[0] as { readonly pid: number }).pid;
  }

  it("a caller's connection without a listener may end while it is idle in the pool", async () => {
    const pool = await callersPool();
    const { schema, dispose } = await fixture.schema();
    onTestFinished(dispose);
    const store = postgresStore(pool, { schema, listen: false });
    await store.open(new ManualWorld(0));
    const client = await pool.connect();
    const pid = await pidOf(client);
    client.release();
    await ended(client, pid);
    expect((await store.commit([create("r")])).answers).toMatchObject([{ kind: "applied" }]);
  });

  it("a caller's connection without a listener may end inside a transaction", async () => {
    const { schema, dispose } = await fixture.schema();
    onTestFinished(dispose);
    const store = postgresStore(fixture.pool, { schema, listen: false });
    await store.open(new ManualWorld(0));
    await store.commit([create("r")]);
    const client = await (await callersPool()).connect();
    onTestFinished(() => client.release(new Error("over")));
    await client.query("BEGIN");
    await store.commitWithin?.(client, [post(message("r", "m"))]);
    await ended(client, await pidOf(client));
    await expect(client.query("COMMIT")).rejects.toThrow();
    expect(await store.reader.inbox("r")).toEqual([]);
  });
});
