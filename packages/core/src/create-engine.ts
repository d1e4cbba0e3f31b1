import { Engine } from "./engine.ts";
import { type EngineOptions, resolveConfig } from "./engine-config.ts";
import type { Clock } from "./runtime/clock.ts";
import type { StoreWorld } from "./store/store.ts";

/** Opens the store and begins to work. */
export async function createEngine(options: EngineOptions): Promise<Engine> {
  const config = resolveConfig(options);
  await config.store.open(storeWorld(config.world.clock));
  const engine = new Engine(config);
  await engine.open();
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
