import { afterEach, expect, it, vi } from "vitest";

/** Examples that need a server. They are skipped without one, except in CI. */

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
  const { PAWL_TEST_POSTGRES_URL: named, PAWL_TEST_POSTGRES_START: ask } = process.env;
  if (named !== undefined || ask === undefined) return named ?? null;
  return ((await (await fetch(ask)).json()) as { readonly url: string | null }).url;
}

const postgres = await postgresUrl();
const redis = process.env.PAWL_TEST_REDIS_URL ?? null;

it("CI has a server for each example", () => {
  if (process.env.CI === "true") expect([postgres, redis]).not.toContain(null);
});

it.skipIf(postgres === null)("postgres: payments are booked once and orders are approved", async () => {
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
