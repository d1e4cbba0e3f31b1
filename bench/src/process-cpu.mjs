import { readFileSync } from "node:fs";

/** The unit of the times in `/proc`, which no Linux has ever changed. */
const TICK_MICROS = 10_000;

/** What the system knows of a process, from its own table; null: there is no such process, or no such table. @param {number} pid */
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
 * Ms for which this thread had a core. Those of the whole process would count what the compiler does beside it; they are
 * taken where the system does not tell.
 */
export function busyMs() {
  try {
    return Number(readFileSync(`/proc/self/task/${process.pid}/schedstat`, "utf8").split(" ")[0]) / 1e6;
  } catch {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1_000;
  }
}
