import { Engine } from "./engine.ts";
import { type EngineOptions, resolveConfig } from "./engine-config.ts";
import type { Clock } from "./runtime/clock.ts";
import type { StoreWorld } from "./store/store.ts";

/** Opens the store and begins to work. */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const config = resolveConfig(options);
  await config.store.open(storeWorld(config.world.clock));
  const engine = new Engine(config);
  try {
    await engine.open();
  } catch (error) {
    // Nobody has it: it would go on claiming, and keep the store open.
    await engine.shutdown({ drainMs: 0 });
    throw error;
  }
  return engine;
}

function storeWorld(clock: Clock): StoreWorld {
  return {
    now: () => clock.now(),
    every(ms, callback) {
      let cancel: (() => void) | null = null;
      const next = (): void => {
        cancel = clock.wakeAt(clock.now() + ms, () => {
          next();
          callback();
        });
      };
      next();
      return () => cancel?.();
    },
  };
}
