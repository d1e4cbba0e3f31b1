import { afterEach, expect, it, vi } from "vitest";

/** Programs that need a server run where the tests have one; in CI there has to be one. */

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

async function printed(load: () => Promise<unknown>): Promise<readonly string[]> {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: unknown) => {
    lines.push(String(line));
  });
  await load();
  return lines;
}

async function postgresUrl(): Promise<string | null> {
  const { PAWL_TEST_POSTGRES_URL: named, PAWL_TEST_POSTGRES_ASK: ask } = process.env;
  if (named !== undefined || ask === undefined) return named ?? null;
  return ((await (await fetch(ask)).json()) as { readonly url: string | null }).url;
}

const postgres = await postgresUrl();
const redis = process.env.PAWL_TEST_REDIS_URL ?? null;

it("there is a server for each of them in CI", () => {
  if (process.env.CI === "true") expect([postgres, redis]).not.toContain(null);
});

it.skipIf(postgres === null)("postgres: payments are booked once and orders approved", async () => {
  vi.stubEnv("DATABASE_URL", postgres ?? "");
  expect(await printed(() => import("./postgres.ts"))).toEqual([
    'order-0: [{"id":"order-0","cents":499}], approved by ann',
    'order-1: [{"id":"order-1","cents":1250}], approved by ann',
  ]);
});

it.skipIf(redis === null)("redis: orders are labelled and approved", async () => {
  vi.stubEnv("REDIS_URL", redis ?? "");
  expect(await printed(() => import("./redis.ts"))).toEqual([
    "label of order-1, approved by ann",
    "label of order-2, approved by ann",
  ]);
});
