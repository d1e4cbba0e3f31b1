import { pause } from "../stats.mjs";

/**
 * What is measured has been compiled by then, also where others take most of the machine.
 *
 * @param {() => number} count @param {{ warmMs: number, warmTasks: number }} least
 */
export async function warmed(count, { warmMs, warmTasks }) {
  const from = performance.now();
  while (count() < warmTasks || performance.now() - from < warmMs) await pause(20);
}
