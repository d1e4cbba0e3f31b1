/** Of a terminal that does not tell. */
const COLUMNS = 120;

/**
 * Says what has been measured and how long the rest takes: in one line that is written over on a terminal, in a line a part
 * elsewhere. A part is expected to take as long as it took in the round before, or as others took where there was none.
 *
 * @param {readonly string[]} parts All that will be measured, in order; the same name in each round.
 * @param {() => number} [now] In ms.
 */
export function progress(parts, now = () => performance.now()) {
  /** @type {Map<string, number>} */
  const took = new Map();
  let [before, spentMs, said, done] = [now(), 0, 0, 0];
  const { stdout } = process;
  return {
    /** The next part is done. @param {string} what */
    say(what) {
      const tookMs = now() - before;
      [before, spentMs] = [before + tookMs, spentMs + tookMs];
      took.set(parts[done], tookMs);
      said += 1;
      done += 1;
      const line = `  ${bar(done, parts.length)} ${what}, about ${time(leftMs(parts.slice(done), took, spentMs / said))} left`;
      if (stdout.isTTY)
        stdout.write(
          `\r\u001b[2K${line.slice(0, (stdout.columns || COLUMNS) - 1)}${done === parts.length ? "\n" : ""}`,
        );
      else stdout.write(`${line}\n`);
    },
    /** These will not be measured after all. @param {number} count */
    skip(count) {
      done += count;
    },
    /** A line of its own. @param {string} text */
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
