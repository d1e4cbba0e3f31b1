import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string, name = "core"): string =>
  fileURLToPath(new URL(`./packages/${name}/src/${path}`, import.meta.url));

export default defineConfig({
  // Tests run against the sources: a result never depends on when `dist` was built. The packed package has its own check.
  resolve: {
    alias: [
      { find: /^pawl$/, replacement: source("index.ts") },
      { find: /^pawl\/eslint$/, replacement: source("eslint/index.ts") },
      { find: /^pawl\/host$/, replacement: source("host/index.ts") },
      { find: /^pawl\/postgres$/, replacement: source("store/postgres/index.ts") },
      { find: /^pawl\/sqlite$/, replacement: source("store/sqlite/index.ts") },
      { find: /^pawl\/redis$/, replacement: source("store/redis/index.ts") },
      { find: /^pawl\/testing$/, replacement: source("testing/index.ts") },
      { find: /^@pawl\/bpmn$/, replacement: source("index.ts", "bpmn") },
      {
        find: /^pawl-test-shared\/(.*)$/,
        replacement: fileURLToPath(new URL("./test/shared/src/$1.ts", import.meta.url)),
      },
    ],
  },
  test: {
    include: [
      "packages/*/src/**/*.test.ts",
      "test/*/src/**/*.test.ts",
      "{bench,examples}/src/**/*.test.ts",
      "scripts/**/*.test.ts",
    ],
    globalSetup: ["scripts/test-redis.mjs", "scripts/test-postgres.mjs"],
    pool: "forks",
    // Much of what tests do is waiting for servers: a process a core is not too many.
    maxWorkers: Math.max(2, availableParallelism()),
    // An hour of a virtual world is thousands of answers from a server, and the machine may be busy.
    testTimeout: 120_000,
    // Some of them compile, or start servers.
    hookTimeout: 120_000,
    teardownTimeout: 120_000,
  },
});
