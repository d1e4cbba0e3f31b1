/** A process that counts how much it can do for a while. */

/** @param {{ forMs: number }} options @param {any} talk */
export async function takePart({ forMs }, { heard, tell, stopped }) {
  work(20);
  tell({ kind: "ready" });
  await heard("go");
  tell({ kind: "did", rounds: work(forMs) });
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
