import type { Codec } from "../../model/payload.ts";
import { currentLocation } from "./user-code-location.ts";

/** What step bodies do to the world, as a test has it: fakes that begin anew for each schedule, and can be looked at. */
export interface Effects {
  /** Forgets everything: the next schedule begins. */
  reset(): void;
  /** What there is when a run has ended. A list is compared whatever its order. */
  read(): unknown;
  /** What is left of a run that was to leave nothing. Left out: whatever `read` says that it did not say at the beginning. */
  leftovers?(): readonly string[];
}

export interface EffectOptions {
  /** The service knows it by this: the same again does nothing. */
  readonly key?: string;
  /** It is not undone when the run fails: a mail that was sent. */
  readonly stays?: boolean;
}

/** A world that remembers what happened in it. */
export interface EffectLog extends Effects {
  happened(what: string, options?: EffectOptions): void;
  /** Takes back what happened; with a key, the same again does nothing. */
  undone(what: string, options?: Pick<EffectOptions, "key">): void;
  read(): readonly string[];
  leftovers(): readonly string[];
}

interface Entry {
  readonly what: string;
  readonly stays: boolean;
}

/** Effects for fakes to write down. */
export function effectLog(): EffectLog {
  let entries: Entry[] = [];
  const keys = new Set<string>();
  const isKnown = (act: string, key: string | undefined): boolean => {
    if (key === undefined) return false;
    const known = keys.has(`${act} ${key}`);
    keys.add(`${act} ${key}`);
    return known;
  };
  return {
    happened(what, { key, stays = false } = {}) {
      const again = isKnown("do", key);
      currentLocation()?.note(again ? `${what}: known by its key, so nothing happens` : what);
      if (!again) entries.push({ what, stays });
    },
    undone(what, { key } = {}) {
      const again = isKnown("undo", key);
      const index = entries.findLastIndex((entry) => entry.what === what);
      currentLocation()?.note(`${what} is taken back${again ? ": known by its key, so nothing happens" : ""}`);
      if (again) return;
      if (index >= 0) entries.splice(index, 1);
      else entries.push({ what: `${what}, taken back once too often`, stays: false });
    },
    reset() {
      entries = [];
      keys.clear();
    },
    read: () => entries.map(({ what }) => what),
    leftovers: () => entries.filter(({ stays }) => !stays).map(({ what }) => what),
  };
}

/** What was read, as texts that can be compared whatever their order: branches may end in any. */
export function effectTexts(codec: Codec, read: unknown): readonly string[] {
  const items = typeof read === "object" && read !== null && Symbol.iterator in read ? read : [read];
  return [...(items as Iterable<unknown>)]
    .filter((item) => item !== undefined)
    .map((item) => (typeof item === "string" ? item : (codec.encode(item, "what effects.read() gave") ?? "")))
    .sort();
}
