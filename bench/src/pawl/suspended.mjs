import { workflow } from "pawl";

/** A workflow that waits for one message; `woke` is called when its code resumes. @param {(runId: string) => void} woke */
export function waiting(woke) {
  return workflow("waiting", async (ctx) => {
    await ctx.listen("go");
    woke(ctx.runId);
    return { done: true };
  });
}

/** Resolves when `count` runs have been suspended since the call. @param {any} engine @param {number} count */
export function suspensions(engine, count) {
  return new Promise((resolve) => {
    let left = count;
    const off = engine.on("run.suspended", () => {
      left -= 1;
      if (left > 0) return;
      off();
      resolve(undefined);
    });
  });
}

/** Starts runs, `atATime` in parallel, and waits until all are suspended. */
export async function startSuspended(engine, definition, { first, count, atATime }) {
  const suspended = suspensions(engine, count);
  for (let n = first; n < first + count; n += atATime) {
    const size = Math.min(atATime, first + count - n);
    await Promise.all(
      Array.from({ length: size }, (_, k) => engine.start(definition, { n: n + k }, { id: `run-${n + k}` })),
    );
  }
  await suspended;
}
