/** A process that counts how much CPU work it can do in a given time. */

/** @param {{ forMs: number }} options @param {any} talk */
export async function runHelper({ forMs }, { received, send, stopped }) {
  work(20);
  send({ kind: "ready" });
  await received("go");
  send({ kind: "did", rounds: work(forMs) });
  await stopped;
}

/** @param {number} forMs */
function work(forMs) {
  const endAt = performance.now() + forMs;
  let [sum, rounds] = [0, 0];
  for (; performance.now() < endAt; rounds += 1) {
    for (let n = 0; n < 2_000; n += 1) sum += Math.sqrt(sum + n);
  }
  return rounds;
}
