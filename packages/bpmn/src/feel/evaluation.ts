import { PawlError } from "pawl";
import type { NamedTypes } from "./feel-types.ts";
import { type FeelContext, type FeelValue, feelValueOf } from "./value.ts";

/** Limits of one evaluation. Steps replace time: their number does not depend on the host, so the same input has the same result. */
export interface FeelBudget {
  readonly stepsMax: number;
  readonly depthMax: number;
  /** Total of created list items, context entries and characters. */
  readonly sizeMax: number;
}

export const FEEL_BUDGET: FeelBudget = { stepsMax: 1_000_000, depthMax: 1_000, sizeMax: 5_000_000 };

/** Values from outside. If omitted, `now()`, `today()` and `random number()` are null. */
export interface FeelWorld {
  /** Epoch ms. */
  readonly now?: number;
  /** From 0 to below 1. */
  readonly random?: () => number;
}

const WARNINGS_MAX = 20;

/**
 * One evaluation: counts its use of the budget and collects warnings.
 *
 * 1. The evaluation throws `EXPRESSION_LIMIT` as soon as one limit of the budget is exceeded.
 * 2. At most WARNINGS_MAX warnings are kept.
 */
export class Evaluation {
  readonly warnings: string[] = [];
  /** The names that no variable and no built-in function has. */
  readonly unresolved: string[] = [];
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
    if (this.#steps > this.#budget.stepsMax) throw budgetExceeded("steps", this.#budget.stepsMax);
  }

  grow(size: number): void {
    this.#size += size;
    this.step(Math.ceil(size / 16));
    if (this.#size > this.#budget.sizeMax) throw budgetExceeded("items and characters", this.#budget.sizeMax);
  }

  /** Pair with `leave`. An exception ends the whole evaluation, so callers need no `finally`. */
  enter(): void {
    this.#depth += 1;
    if (this.#depth > this.#budget.depthMax) throw budgetExceeded("nested expressions", this.#budget.depthMax);
    this.step();
  }

  leave(): void {
    this.#depth -= 1;
  }

  /** Records a name that nothing has. */
  missing(name: string): void {
    if (!this.unresolved.includes(name) && this.unresolved.length < WARNINGS_MAX) this.unresolved.push(name);
  }

  /** Records why a value is null and returns null. */
  warn(warning: string): null {
    if (this.warnings.length < WARNINGS_MAX) this.warnings.push(warning);
    return null;
  }
}

function budgetExceeded(items: string, max: number): PawlError {
  return new PawlError(
    "EXPRESSION_LIMIT",
    `expression needs more than ${max} ${items}; simplify it, or raise its budget`,
  );
}

/** The variables visible to an expression. An inner frame hides the same name of an outer one. */
export interface Scope {
  readonly frame: FeelContext;
  readonly parent: Scope | null;
}

export function lookUp(scope: Scope, name: string): FeelValue | undefined {
  for (let at: Scope | null = scope; at !== null; at = at.parent) {
    if (Object.hasOwn(at.frame, name)) return feelValueOf(at.frame[name]);
  }
  return undefined;
}

export function childScope(parent: Scope | null, frame: FeelContext): Scope {
  return { frame, parent };
}
