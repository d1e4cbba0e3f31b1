import { createServer } from "node:http";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { freshPostgres } from "./postgres-database.ts";

afterEach(() => vi.unstubAllEnvs());

/** Serves the endpoint that starts PostgreSQL, with a fixed response. */
async function startEndpoint(status: number, text: string): Promise<void> {
  const server = createServer((_, response) => response.writeHead(status).end(text));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  vi.stubEnv("PAWL_TEST_POSTGRES_URL", undefined);
  vi.stubEnv("PAWL_TEST_POSTGRES_START", `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`);
}

it("a missing PostgreSQL server skips its tests, and fails them in CI", async () => {
  await startEndpoint(200, JSON.stringify({ url: null }));
  vi.stubEnv("CI", "");
  expect(await freshPostgres()).toBe(null);
  vi.stubEnv("CI", "true");
  await expect(freshPostgres()).rejects.toThrow("PostgreSQL is missing");
  vi.stubEnv("PAWL_TEST_POSTGRES_START", undefined);
  await expect(freshPostgres()).rejects.toThrow("PostgreSQL is missing");
});

it("a PostgreSQL server that does not start fails its tests", async () => {
  await startEndpoint(500, "PostgreSQL did not start");
  vi.stubEnv("CI", "");
  await expect(freshPostgres()).rejects.toThrow("PostgreSQL did not start");
});
