import { startCompanion } from "../companion.mjs";

/** What the machine itself gives to one process, and to two at a time: no scaling goes beyond that. */

/** @param {{ forMs: number }} options */
export async function measure({ forMs }) {
  const one = await amount(1, forMs);
  const two = await amount(2, forMs);
  return { one, two };
}

/** @param {number} processes @param {number} forMs */
async function amount(processes, forMs) {
  const started = Array.from({ length: processes }, () => startCompanion("raw/burner", { forMs }));
  await Promise.all(started.map((each) => each.heard("ready")));
  const told = started.map((each) => {
    const answer = each.heard("did");
    each.tell({ kind: "go" });
    return answer;
  });
  const amounts = (await Promise.all(told)).map(({ rounds }) => rounds);
  await Promise.all(started.map((each) => each.stop()));
  return amounts.reduce((sum, rounds) => sum + rounds, 0);
}
