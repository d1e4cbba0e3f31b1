import type { Chance } from "pawl-test-shared/chance";
import type { Block, Scope } from "./block.ts";

/** What is still to be had for a whole process. */
export interface Stock {
  readonly chance: Chance;
  ids: number;
  /** So many blocks, about. */
  blocks: number;
  readonly signals: string[];
  readonly grow: {
    seq(stock: Stock, soil: Soil): Block;
    scope(stock: Stock, id: string, depth: number): Scope;
  };
}

/** Where a block comes to lie. */
export interface Soil {
  readonly depth: number;
  readonly inRepeat: boolean;
  readonly inInclusive: boolean;
  /** A token may end here, and be missed. */
  readonly mayDie: boolean;
  /** More than one token may be on its way here at a time: joins would mix them. */
  readonly isCrowded: boolean;
  /** Directly in a transaction. */
  readonly mayCancel: boolean;
  /** What can be undone in the scope, by id. */
  readonly undoable: string[];
}

export function newId(stock: Stock, prefix: string): string {
  stock.ids += 1;
  return `${prefix}${stock.ids}`;
}
