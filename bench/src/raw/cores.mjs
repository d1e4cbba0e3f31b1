import { startHelper } from "../helper-process.mjs";

/** The CPU work of one process, and of two in parallel. This is the limit of scaling on this host. */

/** @param {{ forMs: number }} options */
export async function measure({ forMs }) {
  const one = await amount(1, forMs);
  const two = await amount(2, forMs);
  return { one, two };
}

/** @param {number} processes @param {number} forMs */
async function amount(processes, forMs) {
  const started = Array.from({ length: processes }, () => startHelper("raw/burner", { forMs }));
  await Promise.all(started.map((each) => each.received("ready")));
  const answers = started.map((each) => {
    const answer = each.received("did");
    each.send({ kind: "go" });
    return answer;
  });
  const amounts = (await Promise.all(answers)).map(({ rounds }) => rounds);
  await Promise.all(started.map((each) => each.stop()));
  return amounts.reduce((sum, rounds) => sum + rounds, 0);
}
