import type { Chance } from "pawl-test-shared/chance";
import type { Block, Scope } from "./block.ts";

/** The state of the generator for one process. */
export interface GeneratorState {
  readonly chance: Chance;
  ids: number;
  /** The approximate number of blocks that are left. */
  blocks: number;
  readonly signals: string[];
  readonly generate: {
    seq(generator: GeneratorState, context: BlockContext): Block;
    scope(generator: GeneratorState, id: string, depth: number): Scope;
  };
}

/** The context of a block, which decides what may be generated. */
export interface BlockContext {
  readonly depth: number;
  readonly inRepeat: boolean;
  readonly inInclusive: boolean;
  /** A token may end here although a join waits for it. */
  readonly mayDie: boolean;
  /** Several tokens may be here at a time, which joins would mix. */
  readonly isCrowded: boolean;
  /** True directly inside of a transaction. */
  readonly mayCancel: boolean;
  /** The ids of the activities of the scope with compensation. */
  readonly undoable: string[];
}

export function newId(generator: GeneratorState, prefix: string): string {
  generator.ids += 1;
  return `${prefix}${generator.ids}`;
}
