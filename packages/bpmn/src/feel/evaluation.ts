import { PawlError } from "pawl";
import type { NamedTypes } from "./feel-types.ts";
import { adopted, type FeelContext, type FeelValue } from "./value.ts";

/** What one evaluation may use. Steps stand for time: they are the same on every machine, so the same input ends the same way. */
export interface FeelBudget {
  readonly stepsMax: number;
  readonly depthMax: number;
  /** Items of lists, entries of contexts and characters of text that are made. */
  readonly sizeMax: number;
}

export const FEEL_BUDGET: FeelBudget = { stepsMax: 1_000_000, depthMax: 1_000, sizeMax: 5_000_000 };

/** What an expression hears of the world. Without it, `now()`, `today()` and `random number()` are null. */
export interface FeelWorld {
  /** Epoch ms. */
  readonly now?: number;
  /** From 0 to below 1. */
  readonly random?: () => number;
}

const WARNINGS_MAX = 20;

/** One evaluation under way: what it has used of its budget, and what was odd about it. */
export class Evaluation {
  readonly warnings: string[] = [];
  readonly types: NamedTypes;
  readonly world: FeelWorld;
  readonly #budget: FeelBudget;
  #steps = 0;
  #size = 0;
  #depth = 0;

  constructor(options: { readonly budget: FeelBudget; readonly world: FeelWorld; readonly types: NamedTypes }) {
    this.#budget = options.budget;
    this.world = options.world;
    this.types = options.types;
  }

  step(count = 1): void {
    this.#steps += count;
    if (this.#steps > this.#budget.stepsMax) throw spent("steps", this.#budget.stepsMax);
  }

  grow(size: number): void {
    this.#size += size;
    this.step(Math.ceil(size / 16));
    if (this.#size > this.#budget.sizeMax) throw spent("items and characters", this.#budget.sizeMax);
  }

  /** What throws in between ends the evaluation, so nobody has to leave then. */
  enter(): void {
    this.#depth += 1;
    if (this.#depth > this.#budget.depthMax) throw spent("expressions inside each other", this.#budget.depthMax);
    this.step();
  }

  leave(): void {
    this.#depth -= 1;
  }

  /** Notes what made a null, and gives the null. */
  warn(warning: string): null {
    if (this.warnings.length < WARNINGS_MAX) this.warnings.push(warning);
    return null;
  }
}

function spent(what: string, max: number): PawlError {
  return new PawlError("EXPRESSION_LIMIT", `the evaluation needs more than ${max} ${what}; it was given up`);
}

/** Names that are in force at a place of an expression: the nearest frame wins. */
export interface Scope {
  readonly frame: FeelContext;
  readonly parent: Scope | null;
}

export function lookUp(scope: Scope, name: string): FeelValue | undefined {
  for (let at: Scope | null = scope; at !== null; at = at.parent) {
    if (Object.hasOwn(at.frame, name)) return adopted(at.frame[name]);
  }
  return undefined;
}

export function inside(parent: Scope | null, frame: FeelContext): Scope {
  return { frame, parent };
}
