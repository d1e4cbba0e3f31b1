import type { EngineConfig } from "./engine-config.ts";
import type { Codec } from "./model/payload.ts";
import type { SessionWorld } from "./runner/session-world.ts";
import { wakeBy } from "./runtime/agenda.ts";
import type { Clock } from "./runtime/clock.ts";

/** What surrounds all sessions, whatever worker they have: clocks, turns, chance, the log. */
export function surroundings(
  { store, world, log }: EngineConfig,
  clock: Clock,
  codec: Codec,
): Pick<SessionWorld, "now" | "exactClock" | "clock" | "turns" | "random" | "codec" | "log" | "wakeAt"> {
  const now = (): number => store.now();
  const { turns, random } = world;
  return { now, exactClock: store.exactClock, clock, turns, random, codec, log, wakeAt: wakeBy(clock, now) };
}
