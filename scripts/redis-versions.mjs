import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findRedis, findValkey } from "./redis-binary.mjs";
import { ROOT } from "./sources.mjs";

/**
 * The command `npm run redis:versions` runs the tests of the Redis store, also on a cluster of three nodes, on Redis 7 and on Valkey 8.
 * The servers must be installed or available as Debian packages. `npm run redis:versions -- valkey` tests only Valkey.
 *
 * @import { Binary } from "./redis-binary.mjs"
 */

/** @type {Readonly<Record<string, () => Binary | null>>} */
const SERVERS = { redis: findRedis, valkey: findValkey };
const TESTS = ["packages/core/src/store/redis/redis-store.test.ts", "scripts/redis-store.test.ts"];

/** Writes a script that starts the server, so that the path of its libraries applies to no other process. @param {Binary} binary @param {string} folder */
function wrapped({ file, env }, folder) {
  const path = join(folder, "server");
  const settings = Object.entries(env).map(([name, value]) => `${name}='${value}'`);
  writeFileSync(path, `#!/bin/sh\n${settings.join(" ")} exec '${file}' "$@"\n`, { mode: 0o755 });
  return path;
}

/** @param {string} name */
function testOn(name) {
  const binary = SERVERS[name]?.() ?? null;
  if (binary === null) return `${name}: not found`;
  const folder = mkdtempSync(join(tmpdir(), "pawl-redis-version-"));
  try {
    const server = wrapped(binary, folder);
    const version = /v=\S+/.exec(spawnSync(server, ["--version"], { encoding: "utf8" }).stdout)?.[0] ?? "v=?";
    const vitest = join(ROOT, "node_modules", "vitest", "vitest.mjs");
    const { PAWL_TEST_REDIS_URL: _, ...rest } = process.env;
    const { status } = spawnSync(process.execPath, [vitest, "run", "--maxWorkers=1", ...TESTS], {
      cwd: ROOT,
      env: { ...rest, CI: "true", PAWL_REDIS_SERVER: server },
      stdio: "inherit",
    });
    return `${name} (${version}): ${status === 0 ? "passed" : "failed"}`;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const selected = process.argv.slice(2);
const results = (selected.length > 0 ? selected : Object.keys(SERVERS)).map(testOn);
for (const result of results) console.log(result);
process.exitCode = results.some((result) => result.endsWith("failed")) ? 1 : 0;
