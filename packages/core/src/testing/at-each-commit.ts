import type { CrashAt } from "./crashable.ts";

const COMMITS_MAX = 1_000;

/**
 * Executes a scenario with a crash at its first commit, at its second, and so on, once before and once after the commit is applied,
 * until it ends without a crash. `scenario` returns whether the crash happened. Returns the number of crashes.
 */
export async function atEachCommit(scenario: (crashAt: CrashAt) => Promise<boolean>): Promise<number> {
  let crashes = 0;
  for (const applied of [true, false]) {
    for (let commit = 1; commit < COMMITS_MAX && (await scenario({ commit, applied })); commit += 1) crashes += 1;
  }
  return crashes;
}
