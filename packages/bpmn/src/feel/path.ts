import type { Evaluation } from "./evaluation.ts";
import { propertyOf } from "./temporal.ts";
import { entryOf, type FeelValue, isContext, isKind, isList, kindOf } from "./value.ts";

/** `value.name`: an entry, a property, or of a list the same of each item. */
export function pathOf(value: FeelValue, name: string, run: Evaluation): FeelValue {
  if (value === null) return null;
  if (isList(value)) {
    run.grow(value.length);
    return value.map((item) => pathOf(item, name, run));
  }
  const found = isContext(value)
    ? entryOf(value, name)
    : isKind(value, "range")
      ? bound(value, name)
      : propertyOf(value, name);
  return found === undefined ? run.warn(`a ${kindOf(value)} has no ${name}`) : found;
}

function bound(range: Extract<FeelValue, { readonly startIncluded: boolean }>, name: string): FeelValue | undefined {
  if (!isKind(range, "range")) return undefined;
  switch (name) {
    case "start":
      return range.start;
    case "end":
      return range.end;
    case "start included":
      return range.startIncluded;
    case "end included":
      return range.endIncluded;
    default:
      return undefined;
  }
}
