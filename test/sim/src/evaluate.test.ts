import type { JournalRecord } from "pawl";
import { describe, expect, it } from "vitest";
import { evaluateProgram } from "./evaluate.ts";
import type { ProgramNode, StepNode } from "./program.ts";

function step(name: string): StepNode {
  return {
    kind: "step",
    name,
    failures: 0,
    maxAttempts: 1,
    critical: false,
    timeoutMs: null,
    retryOnTimeout: false,
    slow: false,
    ephemeral: false,
    asResult: false,
    poison: false,
    rollback: null,
  };
}

function record(seq: number, location: string, outcome: "ok" | "failed" = "ok"): JournalRecord {
  const payload = JSON.stringify(
    outcome === "ok" ? `value of ${location}` : { name: "Error", message: `failure of ${location}` },
  );
  return { seq, location, kind: "step", outcome, payload, attempts: 1, startedAt: 0, at: 0, detail: null };
}

describe("evaluateProgram", () => {
  it("a program is open while a record is missing", () => {
    expect(evaluateProgram({ nodes: [step("a"), step("b")], data: false }, [record(1, "a")])).toEqual({ kind: "open" });
  });

  it("the branch with the older record wins a race", () => {
    const race: ProgramNode = { kind: "race", branches: [[step("a")], [step("b")]] };
    expect(evaluateProgram({ nodes: [race], data: false }, [record(1, "b"), record(2, "a")])).toMatchObject({
      kind: "value",
      value: [["value of b"]],
    });
  });

  it("Promise.all fails with the oldest failure", () => {
    const all: ProgramNode = { kind: "all", branches: [[step("a")], [step("b")]] };
    const journal = [record(1, "b", "failed"), record(2, "a", "failed")];
    expect(evaluateProgram({ nodes: [all], data: false }, journal)).toMatchObject({
      kind: "error",
      message: "failure of b",
    });
  });

  it("a program continues after a caught failure", () => {
    const attempt: ProgramNode = { kind: "attempt", body: [step("a")], rescue: [step("b")] };
    expect(
      evaluateProgram({ nodes: [attempt], data: false }, [record(1, "a", "failed"), record(2, "b")]),
    ).toMatchObject({
      value: [{ caught: "failure of a", rescued: ["value of b"] }],
    });
  });

  it("each iteration of a loop has its own records", () => {
    const loop: ProgramNode = { kind: "loop", times: 2, body: [step("a")] };
    expect(evaluateProgram({ nodes: [loop], data: false }, [record(1, "a.0"), record(2, "a.1")])).toMatchObject({
      value: [[["value of a.0"], ["value of a.1"]]],
    });
  });
});
