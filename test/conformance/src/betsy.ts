import type { Store } from "pawl";
import { isAsExpected, runBetsyCase } from "./betsy-adapter.ts";
import { runBetsyCaseCrashing } from "./betsy-crashes.ts";
import { type BetsyCase, readBetsy } from "./betsy-suite.ts";

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
  readonly crashes: number;
}

/** How a case is executed: without faults, or with a crash and a recovery between every two commits. */
export type BetsyMode = "plain" | "crashing";

/** Executes every case of the suite, each on its own store. */
export async function runBetsy(
  folder: string,
  openStore: () => Store,
  mode: BetsyMode = "plain",
): Promise<BetsyReport> {
  let crashes = 0;
  const failed: BetsyFailure[] = [];
  let passed = 0;
  for (const { name: model, xml, status, testCases } of readBetsy(folder)) {
    for (const each of testCases) {
      const ended = mode === "plain" ? plain(xml, each, openStore()) : runBetsyCaseCrashing(xml, each, openStore());
      const { trace, crashes: more } = await ended;
      crashes += more;
      if (isAsExpected(trace, each)) passed += 1;
      else failed.push({ model, test: each.name, status, expected: [...each.assertions].sort(), trace });
    }
  }
  return { passed, failed, crashes };
}

async function plain(xml: string, test: BetsyCase, store: Store) {
  return { trace: await runBetsyCase(xml, test, store), crashes: 0 };
}
