const EVERY_MS = 1000;
let shownAt = Number.NEGATIVE_INFINITY;

/** One line that is written over on a terminal; now and then a line of its own elsewhere. */
export function printProgress(text: string): void {
  const now = performance.now();
  if (now - shownAt < (process.stderr.isTTY ? EVERY_MS / 5 : EVERY_MS * 15)) return;
  shownAt = now;
  process.stderr.write(process.stderr.isTTY ? `\r${text}\u001b[K` : `${text}\n`);
}
