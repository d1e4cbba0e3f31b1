import type { Evaluation, Scope } from "./evaluation.ts";
import type { FeelParameter, FeelType, FeelValue } from "./value.ts";

export type BinaryOperator = "+" | "-" | "*" | "/" | "**" | "and" | "or" | CompareOperator;
export type CompareOperator = "=" | "!=" | "<" | "<=" | ">" | ">=";

export interface Binding {
  readonly name: string;
  readonly from: Node;
  /** End of the iteration `from..to`. Null if `from` is a list or a range. */
  readonly to: Node | null;
}

/** An expression as a tree. */
export type Node = ConstructionNode | OperationNode;

type OperationNode =
  | { readonly kind: "literal"; readonly value: FeelValue }
  | { readonly kind: "name"; readonly name: string }
  | { readonly kind: "path"; readonly from: Node; readonly name: string }
  | { readonly kind: "filter"; readonly from: Node; readonly test: Node }
  | { readonly kind: "call"; readonly callee: Node; readonly args: readonly Node[] }
  | {
      readonly kind: "named call";
      readonly callee: Node;
      readonly args: readonly { readonly name: string; readonly value: Node }[];
    }
  | { readonly kind: "binary"; readonly op: BinaryOperator; readonly left: Node; readonly right: Node }
  | { readonly kind: "negate"; readonly value: Node }
  | { readonly kind: "between"; readonly value: Node; readonly low: Node; readonly high: Node }
  | { readonly kind: "in"; readonly value: Node; readonly tests: readonly Test[] }
  | { readonly kind: "instance"; readonly value: Node; readonly type: FeelType }
  | { readonly kind: "if"; readonly test: Node; readonly yes: Node; readonly no: Node };

/** Expressions that create or iterate lists, contexts, functions and ranges. */
export type ConstructionNode =
  | { readonly kind: "for"; readonly bindings: readonly Binding[]; readonly body: Node }
  | { readonly kind: "some"; readonly bindings: readonly Binding[]; readonly body: Node }
  | { readonly kind: "every"; readonly bindings: readonly Binding[]; readonly body: Node }
  | { readonly kind: "list"; readonly items: readonly Node[] }
  | { readonly kind: "context"; readonly entries: readonly { readonly name: string; readonly value: Node }[] }
  | { readonly kind: "function"; readonly parameters: readonly FeelParameter[]; readonly body: Node | null }
  | {
      readonly kind: "range";
      readonly start: Node;
      readonly startIncluded: boolean;
      readonly end: Node;
      readonly endIncluded: boolean;
    }
  | { readonly kind: "half range"; readonly op: CompareOperator; readonly value: Node }
  /** A boxed expression of DMN that has no FEEL syntax. */
  | { readonly kind: "boxed"; readonly evaluate: (scope: Scope, run: Evaluation) => FeelValue };

/** One test of a unary test list. */
export type Test =
  | { readonly kind: "compare"; readonly op: CompareOperator; readonly value: Node }
  /** `readsValue` is true if the expression contains `?`, the tested value. */
  | { readonly kind: "expression"; readonly value: Node; readonly readsValue: boolean };

export type UnaryTests =
  | { readonly kind: "any" }
  | { readonly kind: "tests"; readonly negated: boolean; readonly tests: readonly Test[] };
