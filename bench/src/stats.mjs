/** @param {readonly number[]} values @param {number} share From 0 to 1. */
export function quantile(values, share) {
  const sorted = [...values].sort((left, right) => left - right);
  if (sorted.length === 0) return Number.NaN;
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))];
}

/** @param {readonly number[]} values */
export function median(values) {
  const sorted = [...values].sort((left, right) => left - right);
  const middle = sorted.length / 2;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[Math.floor(middle)] : (sorted[middle - 1] + sorted[middle]) / 2;
}

/** Half of the distance between the extremes, as a share of the median. @param {readonly number[]} values */
export function spread(values) {
  return (Math.max(...values) - Math.min(...values)) / 2 / Math.abs(median(values));
}

/** @param {number} ms */
export function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** The interval of checks whether a window has ended early. */
const LOOK_MS = 25;

/**
 * Measures a time window: the work by `count`, the counters of `read`, and the CPU time of this process.
 *
 * @param {object} options
 * @param {() => number} options.count
 * @param {number} options.windowMs
 * @param {() => Promise<Readonly<Record<string, number>>>} [options.read]
 * @param {() => boolean} [options.isOver] Returns true if no work is left, which ends the window.
 */
export async function overWindow({ count, windowMs, read = async () => ({}), isOver = () => false }) {
  const before = { counts: await read(), done: count(), cpu: process.cpuUsage(), at: performance.now() };
  const endAt = before.at + windowMs;
  while (performance.now() < endAt && !isOver()) await pause(Math.min(LOOK_MS, endAt - performance.now()));
  const [done, cpu, tookMs] = [count() - before.done, process.cpuUsage(before.cpu), performance.now() - before.at];
  const after = await read();
  const counts = Object.fromEntries(Object.entries(after).map(([name, value]) => [name, value - before.counts[name]]));
  return { done, perSecond: (done / tookMs) * 1_000, cpuMicros: cpu.user + cpu.system, tookMs, counts };
}

/** As `overWindow`, but throws if no work was done. @param {Parameters<typeof overWindow>[0]} options */
export async function workOver(options) {
  const window = await overWindow(options);
  if (window.done === 0) throw new Error(`no work was done in ${Math.round(window.tookMs)} ms`);
  return window;
}
