import type { Store } from "pawl";
import { isAsExpected, runBetsyCase } from "./betsy-adapter.ts";
import { readBetsy } from "./betsy-suite.ts";

export interface BetsyFailure {
  readonly model: string;
  readonly test: string;
  readonly status: string;
  readonly expected: readonly string[];
  readonly trace: readonly string[];
}

export interface BetsyReport {
  readonly passed: number;
  readonly failed: readonly BetsyFailure[];
}

/** Runs every case of the suite, each on a store of its own. */
export async function runBetsy(folder: string, openStore: () => Store): Promise<BetsyReport> {
  const failed: BetsyFailure[] = [];
  let passed = 0;
  for (const { name: model, xml, status, testCases } of readBetsy(folder)) {
    for (const each of testCases) {
      const trace = await runBetsyCase(xml, each, openStore());
      if (isAsExpected(trace, each)) passed += 1;
      else failed.push({ model, test: each.name, status, expected: [...each.assertions].sort(), trace });
    }
  }
  return { passed, failed };
}
