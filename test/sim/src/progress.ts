const EVERY_MS = 1000;
let shownAt = Number.NEGATIVE_INFINITY;

/** Overwrites one line on a terminal. Without a terminal it prints a line at most every 15 s. */
export function printProgress(text: string): void {
  const now = performance.now();
  if (now - shownAt < (process.stderr.isTTY ? EVERY_MS / 5 : EVERY_MS * 15)) return;
  shownAt = now;
  process.stderr.write(process.stderr.isTTY ? `\r${text}\u001b[K` : `${text}\n`);
}
