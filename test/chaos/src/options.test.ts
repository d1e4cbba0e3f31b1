import { expect, test } from "vitest";
import { parseOptions } from "./options.ts";

test("the default is 200 kills over 4 workers with the random seed", () => {
  expect(parseOptions([], 7)).toEqual({
    kind: "options",
    options: { kills: 200, seed: 7, workers: 4, leaseMs: 1_000, address: null, through: null, keep: false },
  });
});

test("a given seed is used", () => {
  const parsed = parseOptions(["--store", "sqlite", "--kills", "20", "--seed", "5", "--keep"], 7);
  expect(parsed).toEqual({
    kind: "options",
    options: { kills: 20, seed: 5, workers: 4, leaseMs: 1_000, address: null, through: null, keep: true },
  });
});

test("a database server needs its address", () => {
  expect(parseOptions(["--store", "redis"], 7)).toMatchObject({ kind: "refused" });
  const parsed = parseOptions(["--store", "redis", "--address", "redis://127.0.0.1:1"], 7);
  const address = "redis://127.0.0.1:1";
  expect(parsed).toMatchObject({ options: { address, through: address } });
  const through = "redis://127.0.0.1:2";
  const apart = parseOptions(["--store", "redis", "--address", address, "--through", through], 7);
  expect(apart).toMatchObject({ options: { address, through } });
});

test.each([
  [["--store", "paper"]],
  [["--kills", "0"]],
  [["--workers", "1"]],
  [["--lease", "1"]],
  [["--seed", "x"]],
  [["--what"]],
])("the arguments %j are rejected with a reason", (args) => {
  const parsed = parseOptions(args, 7);
  expect(parsed.kind).toBe("refused");
});
