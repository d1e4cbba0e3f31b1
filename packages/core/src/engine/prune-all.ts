import { readOptions } from "../model/option-check.ts";
import type { Pruned, PruneRequest } from "../rules/tables.ts";
import { added, NOTHING_PRUNED, pruneBatch, pruneOnce } from "../worker/retention-loop.ts";
import type { EngineConfig } from "./config.ts";
import { PRUNE_OPTIONS, type PruneOptions, type PruneReport, resolveRetention } from "./retention.ts";

/** Prunes in batches until nothing is left to remove. Yields one event-loop turn between batches. */
export async function pruneAll(
  config: Pick<EngineConfig, "store" | "retention" | "eventRetentionMs" | "world">,
  given: PruneOptions | undefined,
  withRetry: <T>(call: () => Promise<T>) => Promise<T>,
): Promise<PruneReport> {
  const { store, world } = config;
  const options = readOptions(PRUNE_OPTIONS, given);
  const { batch = pruneBatch(store) } = options;
  const retention =
    options.retention === undefined ? config.retention : resolveRetention(options.retention, config.eventRetentionMs);
  let sum: Pruned = NOTHING_PRUNED;
  for (let done = false; !done && options.signal?.aborted !== true; ) {
    const prune = (request: PruneRequest) => withRetry(() => store.prune(request));
    const pruned = (await pruneOnce(retention, store.now(), batch, prune)) ?? NOTHING_PRUNED;
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
