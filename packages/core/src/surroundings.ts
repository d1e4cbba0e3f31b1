import type { EngineConfig } from "./engine-config.ts";
import type { Codec } from "./model/payload.ts";
import type { SessionWorld } from "./runner/session-world.ts";
import { type Agenda, wakeBy } from "./runtime/agenda.ts";
import { StoreTime } from "./store-time.ts";

type Surroundings = Pick<
  SessionWorld,
  "now" | "hasCome" | "clock" | "turns" | "random" | "codec" | "log" | "wakeAt"
> & {
  /** Calls back when a deadline has come, for certain where the store can say it in time. */
  readonly appoint: StoreTime["wakeAt"];
};

/** What surrounds all sessions, whatever worker they have: clocks, turns, chance, the log. */
export function surroundings({ store, world, log }: EngineConfig, clock: Agenda, codec: Codec): Surroundings {
  const now = (): number => store.now();
  const { turns, random } = world;
  const ticks = (): number | null => world.clock.ticks?.() ?? null;
  const { hasCome, wakeAt: appoint } = new StoreTime(store, clock, ticks);
  return { now, hasCome, clock, turns, random, codec, log, wakeAt: wakeBy(clock, now), appoint };
}
