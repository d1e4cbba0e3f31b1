import { readFileSync } from "node:fs";

/** The unit of the times in `/proc`. */
const TICK_MICROS = 10_000;

/** The fields of `/proc/<pid>/stat`. Null if there is no such process, or no `/proc`. @param {number} pid */
export function processStat(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const end = text.lastIndexOf(")");
    const fields = text.slice(end + 2).split(" ");
    const cpuMicros = (Number(fields[11]) + Number(fields[12])) * TICK_MICROS;
    return { pid, command: text.slice(text.indexOf("(") + 1, end), parent: Number(fields[1]), cpuMicros };
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes(error.code)) return null;
    throw error;
  }
}

/**
 * The CPU time of this thread in ms. The time of the whole process, which includes compiler threads, is the fallback.
 */
export function busyMs() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}
