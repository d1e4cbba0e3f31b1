/** The share of a core that this process gets under full load. @param {number} forMs */
export function shareOfCore(forMs) {
  const [cpuBefore, startedAt] = [process.cpuUsage(), performance.now()];
  let sum = 0;
  while (performance.now() - startedAt < forMs) sum += Math.sqrt(sum + 1);
  const { user, system } = process.cpuUsage(cpuBefore);
  return (user + system) / 1_000 / (performance.now() - startedAt);
}
