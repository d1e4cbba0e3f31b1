import type { Node, UnaryTests } from "../feel/ast.ts";
import type { FeelParameter, FeelType } from "../feel/value.ts";

/** Identifies an element across models: `<namespace of its model>#<id>`. */
export type ElementKey = string;

/** A reference to an element that another element needs. */
export interface Requirement {
  readonly key: ElementKey;
  /** The name under which the element's model is imported. Null if the element is in the same model. */
  readonly importName: string | null;
}

interface Named {
  readonly key: ElementKey;
  readonly id: string;
  readonly name: string;
  readonly namespace: string;
  readonly line: number;
  /** The declared type of its value. Null if the model declares none. */
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
  /** Tests that each item of a collection, or the value, must meet. */
  readonly allowedValues: UnaryTests | null;
  /** Tests that the whole value must meet. */
  readonly constraint: UnaryTests | null;
}

/** An error in a DMN model. */
export interface DecisionProblem {
  /** The id of the element, or its name if it has no id. */
  readonly element: string;
  readonly line: number;
  readonly text: string;
}

/** One or more DMN models, read and linked. Immutable. */
export interface DecisionModel {
  /** The name of the first source. */
  readonly name: string;
  readonly namespace: string;
  readonly elements: ReadonlyMap<ElementKey, DecisionModelElement>;
  /** Keys are `<namespace>#<name>`, with the name as written in that model. */
  readonly items: ReadonlyMap<string, ItemDefinition>;
}
