import type { Expect, Harness } from "../store-contract/harness.ts";
import { alarmCases } from "./alarm-cases.ts";
import type { DriverCase, DriverFactory, DriverSubject } from "./driver-subject.ts";
import { keyCases } from "./key-cases.ts";
import { runCases } from "./run-cases.ts";

const GROUPS: readonly (readonly [string, readonly DriverCase[]])[] = [
  ["keys", keyCases],
  ["alarms", alarmCases],
  ["runs", runCases],
];

/**
 * Tests a driver of `pawl/host` against everything that `runWorkflow` relies on. Each case gets a separate namespace.
 *
 * ```ts
 * import { describe, expect, it } from "vitest";
 * driverContract("memory", async () => ({ driver: memoryDriver() }), { describe, it, expect });
 * ```
 */
export function driverContract(name: string, factory: DriverFactory, harness: Harness): void {
  const { describe, it, expect } = harness;
  describe(`the ${name} driver`, () => {
    for (const [group, cases] of GROUPS) {
      describe(group, () => {
        for (const { name: title, run } of cases) it(title, async () => runCase(await factory(), expect, run));
      });
    }
  });
}

async function runCase(subject: DriverSubject, expect: Expect, run: DriverCase["run"]): Promise<void> {
  try {
    await run(subject, expect);
  } finally {
    await subject.dispose?.();
  }
}
