import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["packages/*/src/**/*.test.ts", "sim/src/**/*.test.ts", "examples/src/**/*.test.ts", "docs/**/*.test.ts"],
    pool: "forks",
    testTimeout: 30_000,
  },
});
