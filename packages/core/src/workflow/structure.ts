/** What the structured operations of a ctx take and give. `Context` is the ctx that a branch, a iteration or a scope gets for itself. */

/** Functions that run side by side, by name. */
export type Branches<Context> = Readonly<Record<string, (ctx: Context) => unknown>>;

type Returned<Branch> = Branch extends (...args: never[]) => infer Value ? Awaited<Value> : never;

/** What each branch of a join gave. */
export type Joined<All> = { readonly [Name in keyof All]: Returned<All[Name]> };

/** Which branch won a race, and what it gave. */
export type RaceResult<All> = {
  [Name in keyof All & string]: { readonly winner: Name; readonly value: Returned<All[Name]> };
}[keyof All & string];

/** What a iteration of a loop gives: the state of the next iteration, or the value of the whole. */
export type LoopStep<State, Value> =
  | { readonly kind: "continue"; readonly state: State }
  | { readonly kind: "break"; readonly value: Value };

/** How a iteration says what comes next. */
export const Loop = {
  continue<State>(state: State): { readonly kind: "continue"; readonly state: State } {
    return { kind: "continue", state };
  },
  break<Value = undefined>(value?: Value): { readonly kind: "break"; readonly value: Value } {
    return { kind: "break", value: value as Value };
  },
};

export interface LoopHistory {
  /** Name in the journal. */
  readonly name: string;
  /** The state is written every so many iterations; a replay begins with the last one written. Default 20. */
  readonly commitInterval?: number;
  /** Old iterations are dropped from the journal every so many iterations. Default: with each write of the state. */
  readonly historyEvery?: number;
  /** How many finished iterations stay in the journal for people to read. Default 20. */
  readonly historyKeep?: number;
}

export interface LoopOptions<Context, State, Value> extends LoopHistory {
  /** Of the first iteration. */
  readonly state: State;
  readonly run: (ctx: Context, state: State, iteration: number) => Promise<LoopStep<State, Value>>;
}

/** A loop without state: a iteration that returns nothing is followed by another. */
export interface PlainLoopOptions<Context, Value> extends LoopHistory {
  readonly run: (ctx: Context, state: undefined, iteration: number) => Promise<LoopStep<undefined, Value> | undefined>;
}

export interface ScopeOptions {
  /** Which failures are values; others are thrown on. Default: all but `rollback`. */
  readonly catch?: ReadonlyArray<ScopeFailure["source"]>;
}

/** What failed in a scope. */
export interface ScopeFailure {
  /** What the error came from: an operation of the ctx, a `RollbackError`, or the code itself. */
  readonly source: "step" | "child" | "join" | "race" | "rollback" | "code";
  /** The name of the scope. */
  readonly scope: string;
  readonly error: Error;
}
