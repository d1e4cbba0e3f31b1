/** The width of a terminal that does not report one. */
const COLUMNS = 120;

/**
 * Prints the progress and the remaining time: one overwritten line on a terminal, otherwise a line per part. A part is expected to take as
 * long as in the previous round, or as the mean of the others in the first round.
 *
 * @param {readonly string[]} parts All parts in order; the same names in each round.
 * @param {() => number} [now] In ms.
 */
export function progress(parts, now = () => performance.now()) {
  /** @type {Map<string, number>} */
  const took = new Map();
  let [before, spentMs, measured, done] = [now(), 0, 0, 0];
  const { stdout } = process;
  return {
    /** The next part is done. @param {string} part */
    measuredPart(part) {
      const tookMs = now() - before;
      [before, spentMs] = [before + tookMs, spentMs + tookMs];
      took.set(parts[done], tookMs);
      measured += 1;
      done += 1;
      const line = `  ${bar(done, parts.length)} ${part}, about ${time(leftMs(parts.slice(done), took, spentMs / measured))} left`;
      if (stdout.isTTY)
        stdout.write(
          `\r\u001b[2K${line.slice(0, (stdout.columns || COLUMNS) - 1)}${done === parts.length ? "\n" : ""}`,
        );
      else stdout.write(`${line}\n`);
    },
    /** The next parts will not be measured. @param {number} count */
    skip(count) {
      done += count;
    },
    /** Prints a separate line. @param {string} text */
    note: (text) => void stdout.write(`${stdout.isTTY ? "\r\u001b[2K" : ""}${text}\n`),
  };
}

/** @param {number} done @param {number} all */
function bar(done, all) {
  const filled = "█".repeat(Math.round((done / all) * 20)).padEnd(20, "·");
  return `${filled} ${String(done).padStart(String(all).length)}/${all}`;
}

/** @param {readonly string[]} parts @param {ReadonlyMap<string, number>} took @param {number} meanMs */
export function leftMs(parts, took, meanMs) {
  return parts.reduce((sum, part) => sum + (took.get(part) ?? meanMs), 0);
}

/** @param {number} ms */
function time(ms) {
  const seconds = Math.round(ms / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
