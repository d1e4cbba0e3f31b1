import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";

/** An engine over a store with a bug, in a process that would live on. */
const PROGRAM = `
  import { createEngine, memoryStore } from "pawl";
  const store = memoryStore();
  const code = process.argv[1];
  const options = code === undefined ? {} : { exitCodeWhenBroken: Number(code) };
  const engine = await createEngine({ store, ...options });
  store.commit = () => Promise.reject(new TypeError("a bug of the store"));
  engine.on("engine.broken", ({ error }) => console.log("broken: " + error.message));
  process.on("exit", (code) => console.log("exit: " + code));
  setTimeout(() => process.exit(3), 5_000);
  await engine.emit("topic", 1).catch(({ code }) => console.log(code));
  if (code === undefined) process.exit(4);
`;

it.each([
  [["70"], 70],
  [["0"], 0],
  [[], 4],
])("a process whose engine is broken, with exitCodeWhenBroken %j, exits with code %s", (args, code) => {
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--input-type=module", "-e", PROGRAM, ...args], {
    encoding: "utf8",
  });
  expect(stdout.trim().split("\n").sort()).toEqual(
    ["ENGINE_BROKEN", "broken: a bug of the store", `exit: ${code}`].sort(),
  );
  expect(stderr).toContain("engine stopped: invariant violated, nothing invalid was written");
  expect(status).toBe(code);
});
