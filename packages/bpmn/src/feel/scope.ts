import { adopted, type FeelContext, type FeelValue } from "./value.ts";

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
