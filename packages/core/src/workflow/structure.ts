type BranchFunction<Context> = (ctx: Context) => unknown;

/** Functions that run concurrently, by name. `Context` is the ctx type that each receives. */
export type Branches<Context> = Readonly<
  Record<string, BranchFunction<Context> | { readonly run: BranchFunction<Context> }>
>;

/** Functions that run concurrently, as a list. Each has its own name. */
export type BranchList<Context> = ReadonlyArray<{ readonly name: string; readonly run: BranchFunction<Context> }>;

type Returned<Branch> = Branch extends (...args: never[]) => infer Value
  ? Awaited<Value>
  : Branch extends { readonly run: (...args: never[]) => infer Value }
    ? Awaited<Value>
    : never;

/** A list of branches as branches by name. */
type ByName<All> =
  All extends ReadonlyArray<infer Branch>
    ? { readonly [Each in Branch as Each extends { readonly name: infer Name extends string } ? Name : never]: Each }
    : All;

/** The value of each branch of a join. */
export type Joined<All> = { readonly [Name in keyof ByName<All>]: Returned<ByName<All>[Name]> };

/** The branch that won a race, and its value. */
export type RaceResult<All> = {
  [Name in keyof ByName<All> & string]: { readonly winner: Name; readonly value: Returned<ByName<All>[Name]> };
}[keyof ByName<All> & string];

/** Result of an iteration: the state of the next one, or the value of the loop. */
export type LoopStep<State, Value> =
  | { readonly kind: "continue"; readonly state: State }
  | { readonly kind: "break"; readonly value: Value };

/** Creates the result of an iteration. */
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
  /** The state is recorded every `commitInterval` iterations, and a replay resumes at the last recorded one. Default 20. */
  readonly commitInterval?: number;
  /** Old iterations are deleted from the journal every `historyEvery` iterations. Default: `commitInterval`. */
  readonly historyEvery?: number;
  /** Finished iterations kept in the journal for operators to read. Default 20. */
  readonly historyKeep?: number;
}

export interface LoopOptions<Context, State, Value> extends LoopHistory {
  /** State of the first iteration. */
  readonly state: State;
  readonly run: (ctx: Context, state: State, iteration: number) => Promise<LoopStep<State, Value>>;
}

/** A loop without state. An iteration that returns nothing is followed by another. */
export interface PlainLoopOptions<Context, Value> extends LoopHistory {
  readonly run: (ctx: Context, state: undefined, iteration: number) => Promise<LoopStep<undefined, Value> | undefined>;
}

/** A loop whose iterations return nothing. */
export interface EndlessLoopOptions<Context> extends LoopHistory {
  readonly run: (ctx: Context, state: undefined, iteration: number) => Promise<void>;
}

export interface MapOptions {
  /** Maximum number of items in progress. Default: all items. */
  readonly concurrency?: number;
  /** Whether failures reject the map, or are returned as values. Default `throw`. */
  readonly failures?: "throw" | "return";
}

export interface ScopeOptions {
  /** Failures that are returned as values. Others are thrown. Default: all but `rollback`. */
  readonly catch?: ReadonlyArray<ScopeFailure["source"]>;
}

/** The failure of a scope. */
export interface ScopeFailure {
  /** Origin of the error: an operation, a `RollbackError`, or other code in the scope. */
  readonly source: "step" | "child" | "join" | "race" | "rollback" | "code";
  readonly scope: string;
  readonly error: Error;
}
