import type { Binding, Process } from "./process.ts";

/**
 * The versions that a process uses with the binding `deployment`: those that were deployed together with it. Apart, because a definition
 * stores them and the program and its handlers read them.
 */
export interface Pins {
  /** By id or name of the decision: its model, and the version of that. */
  readonly decisions: Readonly<Record<string, { readonly model: string; readonly version: number }>>;
  readonly forms: Readonly<Record<string, number>>;
  readonly processes: Readonly<Record<string, number>>;
}

export const NO_PINS: Pins = { decisions: {}, forms: {}, processes: {} };

/** What an element refers to with the binding `deployment`. */
export interface BoundReference {
  readonly element: string;
  readonly line: number | null;
  readonly to: keyof Pins;
  readonly name: string;
}

export function boundReferences({ elements }: Process): readonly BoundReference[] {
  return [...elements.values()].flatMap((each): readonly BoundReference[] => {
    const { id: element, line } = each;
    if (!("binding" in each) || each.binding?.kind !== "deployment") return [];
    if (each.type === "callActivity") return [{ element, line, to: "processes", name: each.called.text }];
    if (each.type === "userTask") return [{ element, line, to: "forms", name: formIdOf(each.properties) }];
    return each.decision === null ? [] : [{ element, line, to: "decisions", name: each.decision }];
  });
}

/** The pins that the references need. A reference to a version that was not deployed together has none. */
export function pinsFor(references: readonly BoundReference[], deployed: Pins): Pins {
  const part = <T>(to: keyof Pins, all: Readonly<Record<string, T>>): Record<string, T> => {
    const names = references.filter((each) => each.to === to).map(({ name }) => name);
    return Object.fromEntries(Object.entries(all).filter(([name]) => names.includes(name)));
  };
  return {
    decisions: part("decisions", deployed.decisions),
    forms: part("forms", deployed.forms),
    processes: part("processes", deployed.processes),
  };
}

function formIdOf(properties: Readonly<Record<string, string>>): string {
  return properties["formDefinition.formId"] ?? properties.formRef ?? properties.formId ?? "";
}

/** A binding as modelers write it. Null for `latest`. */
export function bindingOf(type: string | null, tag: string | null, version: string | null): Binding | null {
  if (type === "deployment") return { kind: "deployment" };
  if (type === "versionTag") return { kind: "versionTag", tag: tag ?? "" };
  const number = Number(version ?? Number.NaN);
  return type === "version" && Number.isInteger(number) && number > 0 ? { kind: "version", version: number } : null;
}
