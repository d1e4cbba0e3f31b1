import { expect, test } from "vitest";
import type { Entry, Line } from "../entry.ts";
import { recoveryOf } from "./recovery.ts";

function lines(...entries: readonly (readonly [process: string, entry: Entry])[]): readonly Line[] {
  return entries.map(([process, entry], index) => ({ n: index + 1, process, ...entry }));
}

function begin(run: string, body: string, at: number): Entry {
  return { kind: "begin", body, run, round: 0, location: "s", attempt: 1, epoch: 1, at };
}

test("recovery is the time from a kill during a body until another worker starts a body of that run", () => {
  const kill: Entry = { kind: "signal", signal: "SIGKILL", at: 100 };
  const recovery = recoveryOf(
    lines(
      ["w1", begin("open", "a", 50)],
      ["w1", begin("done", "b", 60)],
      ["w1", { kind: "end", body: "b", outcome: "returned", at: 70 }],
      ["w1", begin("never", "c", 80)],
      ["w1", kill],
      ["w2", begin("done", "d", 200)],
      ["w2", begin("open", "e", 1_400)],
      ["w2", begin("open", "f", 1_500)],
    ),
  );
  expect(recovery).toEqual({ count: 1, p50: 1_300, p99: 1_300, most: 1_300 });
});

test("recovery is 0 without kills", () => {
  expect(recoveryOf([])).toEqual({ count: 0, p50: 0, p99: 0, most: 0 });
});
