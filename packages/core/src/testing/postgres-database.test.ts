import { createServer } from "node:http";
import { afterEach, expect, it, onTestFinished, vi } from "vitest";
import { freshPostgres } from "./postgres-database.ts";

afterEach(() => vi.unstubAllEnvs());

/** Whom the tests ask for a server. */
async function door(status: number, text: string): Promise<void> {
  const server = createServer((_, response) => response.writeHead(status).end(text));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  const address = server.address();
  vi.stubEnv("PAWL_TEST_POSTGRES_URL", undefined);
  vi.stubEnv("PAWL_TEST_POSTGRES_ASK", `http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`);
}

it("without a server its tests are skipped, but in CI they fail", async () => {
  await door(200, JSON.stringify({ url: null }));
  vi.stubEnv("CI", "");
  expect(await freshPostgres()).toBe(null);
  vi.stubEnv("CI", "true");
  await expect(freshPostgres()).rejects.toThrow("there is no PostgreSQL to test on");
  vi.stubEnv("PAWL_TEST_POSTGRES_ASK", undefined);
  await expect(freshPostgres()).rejects.toThrow("there is no PostgreSQL to test on");
});

it("a server that does not start fails them everywhere", async () => {
  await door(500, "PostgreSQL did not start");
  vi.stubEnv("CI", "");
  await expect(freshPostgres()).rejects.toThrow("PostgreSQL did not start");
});
