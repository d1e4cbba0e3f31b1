/**
 * Replaces a failing case by smaller ones, one at a time, as long as they fail in the same way.
 *
 * 1. `smaller` is called again after each success, and the search continues at the position that it had reached.
 * 2. The search ends when no smaller case fails, or after `attemptsMax` cases.
 */
export async function shrink<Case>(
  failing: Case,
  options: {
    /** Cases with one part removed, largest parts first. */
    readonly smaller: (failing: Case) => Iterable<Case>;
    /** Null if the case does not fail, or fails in another way. */
    readonly retry: (candidate: Case) => Promise<Case | null>;
    readonly attemptsMax: number;
  },
): Promise<Case> {
  let best = failing;
  let position = 0;
  let attemptsSinceSuccess = 0;
  for (let attempts = 0; attempts < options.attemptsMax; attempts += 1) {
    const candidates = [...options.smaller(best)];
    const candidate = candidates[position % Math.max(1, candidates.length)];
    if (candidate === undefined || attemptsSinceSuccess >= candidates.length) break;
    const failed = await options.retry(candidate);
    if (failed === null) {
      position = (position + 1) % candidates.length;
      attemptsSinceSuccess += 1;
    } else {
      best = failed;
      attemptsSinceSuccess = 0;
    }
  }
  return best;
}
