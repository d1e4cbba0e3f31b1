import { expect, test } from "vitest";
import { expectedValue } from "./expected.ts";
import { scenarioAt, sweepScenario } from "./scenario.ts";

const scenarios = Array.from({ length: 300 }, (_, index) => scenarioAt(5, index));

test("the same seed has the same scenarios, another seed has others", () => {
  expect(scenarioAt(5, 17)).toEqual(scenarioAt(5, 17));
  expect(scenarios.map(({ actions }) => actions.length)).not.toEqual(
    scenarios.map(({ index }) => scenarioAt(6, index).actions.length),
  );
});

test("a run is started before it is used, or in the same scenario", () => {
  for (const { actions } of scenarios) {
    const started = new Set<string>();
    for (const action of actions) {
      if (action.kind === "start") started.add(action.run);
      if (action.kind === "send") expect(started).toContain(action.to);
      if (action.kind === "await" || action.kind === "cancel") expect(started).toContain(action.run);
    }
  }
});

test("every workflow is started and has an expected value", () => {
  const names = new Set<string>();
  for (const { actions } of [...scenarios, sweepScenario(300)]) {
    for (const action of actions) {
      if (action.kind !== "start") continue;
      names.add(action.workflow);
      expect(expectedValue(action.workflow, action.input as never)).toBeTypeOf("number");
    }
  }
  expect([...names].sort()).toEqual([
    "auditor",
    "chain",
    "doomed",
    "family",
    "gather",
    "mailbox",
    "ping",
    "pong",
    "relay",
    "sweep",
    "together",
    "transfer",
  ]);
});

test("there are enough events for all competing runs", () => {
  for (const { actions } of scenarios) {
    const emitted = actions.filter((action) => action.kind === "emit" && action.consume === "one").length;
    const awaited = actions.reduce(
      (sum, action) => sum + (action.kind === "start" && action.workflow === "gather" ? action.input.count + 1 : 0),
      0,
    );
    expect(emitted).toBeGreaterThanOrEqual(awaited);
  }
});
