import { kinds, readArgument } from "../model/option-check.ts";
import { type Random, seededRandom as randomOf } from "../runtime/random.ts";

/** Apart from `runtime/random.ts`, because the runtime imports nothing. */

/** The same seed gives the same numbers and ids. */
export function seededRandom(seed: number): Random {
  return randomOf(readArgument(kinds.integer(Number.MIN_SAFE_INTEGER), seed, "seed"));
}
