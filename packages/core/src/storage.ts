import { Committer } from "./coordinator/committer.ts";
import { Coordinator } from "./coordinator/coordinator.ts";
import type { EngineConfig } from "./engine-config.ts";
import type { Wake } from "./model/transition.ts";
import type { Agenda } from "./runtime/agenda.ts";
import { dueFirst } from "./runtime/due-first.ts";

/**
 * Transitions in one commit, and ops that may wait for one. A commit keeps the loop busy, so more at once would keep all else waiting for
 * longer, and run out of the cache. As many runs under way fill a commit.
 */
const LIMITS = { batchMax: 500, queueMax: 20_000, busyMax: 500 };

/** A worker's way to its store. */
export interface Storage {
  readonly committer: Committer;
  readonly coordinator: Coordinator;
}

export function createStorage(
  { store, world, log, storageRetry: policy }: EngineConfig,
  clock: Agenda,
  hooks: {
    readonly onDown: (error: Error) => void;
    readonly onUp: () => void;
    readonly onWakes: (wakes: readonly Wake[]) => void;
    readonly onAnswered: () => void;
    readonly onBroken: (error: unknown) => void;
  },
): Storage {
  const { onDown, onUp, ...rest } = hooks;
  const committer = new Committer({ store, clock, random: world.random, policy, log, onDown, onUp });
  const turns = dueFirst(world.turns, clock);
  const { batchMax = LIMITS.batchMax, busyMax = LIMITS.busyMax } = store;
  const limits = { ...LIMITS, batchMax, busyMax };
  const coordinator = new Coordinator({ store, committer, turns, limits, ...rest });
  return { committer, coordinator };
}
