import type { Node, UnaryTests } from "../feel/ast.ts";
import type { FeelParameter, FeelType } from "../feel/value.ts";

/** Names an element across models: the namespace of its model, `#`, its id. */
export type ElementKey = string;

/** What an element of a decision graph needs to be known. */
export interface Requirement {
  readonly key: ElementKey;
  /** The name by which the model imports the one that holds the element; null for its own. */
  readonly importName: string | null;
}

interface Named {
  readonly key: ElementKey;
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly line: number;
  /** What its value has to be; null where the model does not say. */
  readonly type: FeelType | null;
}

export interface InputElement extends Named {
  readonly kind: "input";
}

export interface DecisionElement extends Named {
  readonly kind: "decision";
  readonly needs: readonly Requirement[];
  readonly logic: Node | null;
}

/** A business knowledge model: a function that decisions call. */
export interface KnowledgeElement extends Named {
  readonly kind: "knowledge";
  readonly needs: readonly Requirement[];
  readonly parameters: readonly FeelParameter[];
  readonly body: Node | null;
}

export interface ServiceElement extends Named {
  readonly kind: "service";
  readonly outputs: readonly Requirement[];
  readonly inputDecisions: readonly Requirement[];
  readonly inputData: readonly Requirement[];
}

export type DecisionModelElement = InputElement | DecisionElement | KnowledgeElement | ServiceElement;

export interface ItemDefinition {
  readonly name: string;
  readonly isCollection: boolean;
  readonly type: FeelType | null;
  readonly components: readonly ItemDefinition[];
  readonly isFunction: boolean;
  /** Each item of a collection, or the value, has to be among them. */
  readonly allowedValues: UnaryTests | null;
  /** The value as a whole has to meet it. */
  readonly constraint: UnaryTests | null;
}

/** Something about a model that has to be mended. */
export interface DecisionProblem {
  /** The id or the name of the element. */
  readonly element: string;
  readonly line: number;
  readonly text: string;
}

/** One or more DMN models, read and linked. Nothing in it changes. */
export interface DecisionModel {
  /** Of the first of its sources. */
  readonly name: string;
  readonly namespace: string;
  readonly elements: ReadonlyMap<ElementKey, DecisionModelElement>;
  /** By namespace and name as seen from there: `namespace`, `#`, name. */
  readonly items: ReadonlyMap<string, ItemDefinition>;
}
