/** Of a terminal that does not tell. */
const COLUMNS = 120;

/**
 * Says what has been measured and how long the rest takes, by what the parts before it took: in one line that is written over on
 * a terminal, in a line a part elsewhere.
 *
 * @param {number} all How many parts there are.
 */
export function progress(all) {
  const startedAt = performance.now();
  let done = 0;
  const { stdout } = process;
  return {
    /** @param {string} what */
    say(what) {
      done += 1;
      const bar = "█".repeat(Math.round((done / all) * 20)).padEnd(20, "·");
      const leftMs = ((performance.now() - startedAt) / done) * (all - done);
      const line = `  ${bar} ${String(done).padStart(String(all).length)}/${all} ${what}, about ${time(leftMs)} left`;
      if (stdout.isTTY)
        stdout.write(`\r\u001b[2K${line.slice(0, (stdout.columns || COLUMNS) - 1)}${done === all ? "\n" : ""}`);
      else stdout.write(`${line}\n`);
    },
    /** A line of its own. @param {string} text */
    note: (text) => void stdout.write(`${stdout.isTTY ? "\r\u001b[2K" : ""}${text}\n`),
  };
}

/** @param {number} ms */
function time(ms) {
  const seconds = Math.round(ms / 1_000);
  return seconds < 60 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}
