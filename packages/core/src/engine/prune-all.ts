import { PawlError } from "../model/errors.ts";
import type { Pruned } from "../rules/tables.ts";
import { added, NOTHING_PRUNED, pruneBatch, pruneOnce } from "../worker/retention-loop.ts";
import type { EngineConfig } from "./config.ts";
import { type PruneOptions, type PruneReport, resolveRetention } from "./retention.ts";

const BATCH_MAX = 10_000;

/** Prunes in batches until nothing is left to remove. Yields one event-loop turn between batches. */
export async function pruneAll(
  config: Pick<EngineConfig, "store" | "retention" | "eventRetentionMs" | "world">,
  options: PruneOptions,
  withRetry: <T>(call: () => Promise<T>) => Promise<T>,
): Promise<PruneReport> {
  const { store, world } = config;
  const batch = options.batch ?? pruneBatch(store);
  if (!Number.isInteger(batch) || batch < 1 || batch > BATCH_MAX)
    throw new PawlError("OPTION_INVALID", `batch must be an integer from 1 to ${BATCH_MAX}; got ${batch}`);
  const retention =
    options.retention === undefined ? config.retention : resolveRetention(options.retention, config.eventRetentionMs);
  let sum: Pruned = NOTHING_PRUNED;
  for (let done = false; !done && options.signal?.aborted !== true; ) {
    const pruned = await withRetry(() => pruneOnce(store, retention, batch));
    sum = added(sum, pruned);
    done = pruned.done;
    options.onProgress?.(reportOf(sum));
    await new Promise<void>((resolve) => world.eventLoop.afterTurn(resolve));
  }
  return reportOf(sum);
}

function reportOf({ runs, letters, entries, expired }: Pruned): PruneReport {
  return { runs, deadLetters: letters, entries, expired };
}
