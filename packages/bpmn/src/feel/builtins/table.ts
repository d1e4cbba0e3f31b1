import { CONTEXT_FUNCTIONS } from "./contexts.ts";
import { CONVERSIONS } from "./conversions.ts";
import { LIST_FUNCTIONS } from "./lists.ts";
import { NUMBER_FUNCTIONS } from "./numbers.ts";
import { RANGE_FUNCTIONS } from "./ranges.ts";
import type { Builtin, Signature } from "./signature.ts";
import { STATISTICS } from "./statistics.ts";
import { STRING_FUNCTIONS } from "./strings.ts";
import { TEMPORAL_FUNCTIONS } from "./temporals.ts";

/** All built-in functions, by name. */
export const BUILTINS: ReadonlyMap<string, Builtin> = tableOf([
  ...CONVERSIONS,
  ...STRING_FUNCTIONS,
  ...LIST_FUNCTIONS,
  ...STATISTICS,
  ...NUMBER_FUNCTIONS,
  ...TEMPORAL_FUNCTIONS,
  ...RANGE_FUNCTIONS,
  ...CONTEXT_FUNCTIONS,
]);

function tableOf(entries: readonly { readonly name: string; readonly signature: Signature }[]): Map<string, Builtin> {
  const table = new Map<string, { readonly name: string; readonly signatures: Signature[] }>();
  for (const { name, signature } of entries) {
    const builtin = table.get(name) ?? { name, signatures: [] };
    builtin.signatures.push(signature);
    table.set(name, builtin);
  }
  return table;
}
