import type { Codec } from "../../model/payload.ts";
import { currentLocation } from "./user-code-location.ts";

/** The external systems that steps change, as fakes that are reset before each schedule and read after it. */
export interface Effects {
  /** Restores the initial state, before each schedule. */
  reset(): void;
  /** Returns the state after a run has ended. The order of a list is ignored. */
  read(): unknown;
  /** Returns effects that a failed or cancelled run did not undo. Default: what `read` returns in addition to the initial state. */
  leftovers?(): readonly string[];
}

export interface EffectOptions {
  /** The idempotency key: a second call with the same key does nothing. */
  readonly key?: string;
  /** The effect is not undone when the run fails, such as a sent mail. Default false. */
  readonly stays?: boolean;
}

/** Records effects and their undoing. */
export interface EffectLog extends Effects {
  happened(effect: string, options?: EffectOptions): void;
  /** Removes an effect. With a key, a second call with the same key does nothing. */
  undone(effect: string, options?: Pick<EffectOptions, "key">): void;
  read(): readonly string[];
  leftovers(): readonly string[];
}

interface Entry {
  readonly effect: string;
  readonly stays: boolean;
}

/** Creates an empty effect log, for fakes to record their calls in. */
export function effectLog(): EffectLog {
  let entries: Entry[] = [];
  const keys = new Set<string>();
  const isKnown = (action: string, key: string | undefined): boolean => {
    if (key === undefined) return false;
    const known = keys.has(`${action} ${key}`);
    keys.add(`${action} ${key}`);
    return known;
  };
  return {
    happened(effect, { key, stays = false } = {}) {
      const isDuplicate = isKnown("do", key);
      currentLocation()?.onEffect(isDuplicate ? `${effect}: ignored, duplicate key` : effect);
      if (!isDuplicate) entries.push({ effect, stays });
    },
    undone(effect, { key } = {}) {
      const isDuplicate = isKnown("undo", key);
      const index = entries.findLastIndex((entry) => entry.effect === effect);
      currentLocation()?.onEffect(`${effect} is undone${isDuplicate ? ": ignored, duplicate key" : ""}`);
      if (isDuplicate) return;
      if (index >= 0) entries.splice(index, 1);
      else entries.push({ effect: `${effect}, undone too often`, stays: false });
    },
    reset() {
      entries = [];
      keys.clear();
    },
    read: () => entries.map(({ effect }) => effect),
    leftovers: () => entries.filter(({ stays }) => !stays).map(({ effect }) => effect),
  };
}

/** The state that `Effects.read` returned as sorted texts, because parallel branches end in any order. */
export function effectTexts(codec: Codec, read: unknown): readonly string[] {
  const items = typeof read === "object" && read !== null && Symbol.iterator in read ? read : [read];
  return [...(items as Iterable<unknown>)]
    .filter((item) => item !== undefined)
    .map((item) => (typeof item === "string" ? item : (codec.encode(item, "the result of effects.read()") ?? "")))
    .sort();
}
