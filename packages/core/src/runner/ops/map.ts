import { JoinError } from "../../model/branch-errors.ts";
import { checkName } from "../../model/names.ts";
import { kinds, optionTable, readArgument, readOptions } from "../../model/option-check.ts";
import type { Ctx, TryResult } from "../../workflow/ctx.ts";
import type { MapOptions, ScopeFailure } from "../../workflow/structure.ts";
import { type Branch, branchAt, locate } from "./branch.ts";
import { mark } from "./mark.ts";
import { caughtFailure } from "./scope.ts";

const MAP_OPTIONS = optionTable<MapOptions>("map", {
  concurrency: kinds.either(kinds.literal(Number.POSITIVE_INFINITY), kinds.integer(1)),
  failures: kinds.oneOf("throw", "return"),
});
const ITEMS = kinds.list(kinds.value);

interface Mapping<Item> {
  readonly name: string;
  readonly items: readonly Item[];
  readonly run: (ctx: Ctx, item: Item, index: number) => unknown;
}

/**
 * Calls a function for each item, in a branch that is named by the index. The number of items is recorded as the branches of a join are,
 * so that another number is detected as a divergence.
 */
export async function map<Item>(
  branch: Branch,
  { name, items: given, run }: Mapping<Item>,
  options: MapOptions | undefined,
): Promise<readonly unknown[]> {
  checkName(name, "name of map");
  const items = readArgument(ITEMS, given, `items of map ${name}`) as readonly Item[];
  readArgument(kinds.callback, run, `function of map ${name}`);
  const { concurrency = items.length, failures = "throw" } = readOptions(MAP_OPTIONS, options);
  const location = locate(branch, name);
  const detail = items.length === 1 ? "1 item" : `${items.length} items`;
  await mark(branch, { record: "join", location, detail });
  const results: TryResult<unknown, ScopeFailure>[] = [];
  let next = 0;
  // The lanes take the items in the order in which items end, which is the same in every replay.
  const lane = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      const inner = branchAt(branch, `${location}/${index}`);
      try {
        results[index] = { ok: true, value: await run(inner.createCtx(inner), items[index] as Item, index) };
      } catch (error) {
        const failure = caughtFailure(`${name}/${index}`, error);
        if (failures === "return" && failure.source === "rollback") throw error;
        results[index] = { ok: false, failure };
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, lane));
  return failures === "return" ? results : valuesOf(name, results);
}

function valuesOf(name: string, results: readonly TryResult<unknown, ScopeFailure>[]): readonly unknown[] {
  const errors = results.flatMap((result, index) =>
    result.ok ? [] : [[String(index), result.failure.error] as const],
  );
  if (errors.length > 0) throw new JoinError(name, Object.fromEntries(errors));
  return results.map((result) => (result.ok ? result.value : undefined));
}
