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

/** Counts and CPU time over a stretch of time. @param {() => number} count @param {number} windowMs */
export async function overWindow(count, windowMs) {
  const [countBefore, cpuBefore, startedAt] = [count(), process.cpuUsage(), performance.now()];
  await pause(windowMs);
  const [counted, cpu, tookMs] = [count() - countBefore, process.cpuUsage(cpuBefore), performance.now() - startedAt];
  return { counted, perSecond: (counted / tookMs) * 1_000, cpuMicros: cpu.user + cpu.system, tookMs };
}
