import { busyMs } from "../process-cpu.mjs";

/**
 * The raw limit of a replay in the recorded order: for each record it parses the text and resolves a promise, and it delivers the next
 * record when the event loop is idle. The process has done nothing else, as in W5.
 */

const RESOLVED = Promise.resolve();

/** @param {{ records: number }} options */
export async function measure({ records }) {
  const journal = Array.from({ length: records }, (_, step) => ({
    location: `step-${step}`,
    payload: JSON.stringify({ step, ok: true }),
  }));
  let next = 0;
  /** @type {{ name: string, resolve: (value: unknown) => void } | null} */
  let open = null;
  const give = () => {
    const { location, payload } = journal[next];
    if (open?.name !== location) throw new Error(`the program did not request ${location}`);
    next += 1;
    open.resolve(JSON.parse(payload));
  };
  const rest = () => process.nextTick(give);
  const ask = (/** @type {string} */ name) =>
    new Promise((resolve) => {
      open = { name, resolve };
      void RESOLVED.then(rest);
    });
  const startedAt = performance.now();
  const before = busyMs();
  for (let step = 0; step < records; step += 1) await ask(`step-${step}`);
  const busy = busyMs() - before;
  return { recordsPerSecond: (records / Math.min(performance.now() - startedAt, busy)) * 1_000 };
}
