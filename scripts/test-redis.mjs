import { startRedis } from "./redis-server.mjs";

/**
 * Global setup of Vitest: one Redis server for all tests, `PAWL_TEST_REDIS_URL` or one that is started here. Each test uses its own key
 * prefix. Without a server the tests of the Redis store are skipped; in CI this is a failure.
 */
export async function setup() {
  if (process.env.PAWL_TEST_REDIS_URL !== undefined) return;
  try {
    const server = await startRedis();
    process.env.PAWL_TEST_REDIS_URL = server.url;
    return async () => {
      delete process.env.PAWL_TEST_REDIS_URL;
      await server.stop();
    };
  } catch (error) {
    if (process.env.CI === "true") throw error;
    console.warn(`!! NOT TESTED ON REDIS: ${String(error)}`);
  }
}
