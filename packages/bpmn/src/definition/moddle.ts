/** Reads of what bpmn-moddle gives: an object by its type, whose members may be anything. */

export interface Model {
  readonly $type: string;
  readonly $attrs?: Readonly<Record<string, string>>;
  readonly $parent?: Model;
  readonly $children?: readonly Model[];
  readonly $body?: string;
  readonly id?: string;
}

export function isModel(value: unknown): value is Model {
  return typeof value === "object" && value !== null && "$type" in value;
}

export function textIn(model: Model | null, name: string): string | null {
  const value = model === null ? undefined : (model as unknown as Record<string, unknown>)[name];
  if (typeof value === "number" || typeof value === "boolean") return String(value);
  return typeof value === "string" && value !== "" ? value : null;
}

export function flagIn(model: Model, name: string): boolean {
  return (model as unknown as Record<string, unknown>)[name] === true;
}

export function countIn(model: Model, name: string, fallback: number): number {
  const value = (model as unknown as Record<string, unknown>)[name];
  return typeof value === "number" ? value : fallback;
}

export function modelIn(model: Model | null, name: string): Model | null {
  const value = model === null ? undefined : (model as unknown as Record<string, unknown>)[name];
  return isModel(value) ? value : null;
}

export function modelsIn(model: Model | null, name: string): readonly Model[] {
  const value = model === null ? undefined : (model as unknown as Record<string, unknown>)[name];
  return Array.isArray(value) ? value.filter(isModel) : [];
}

export function idIn(model: Model | null, name: string): string | null {
  return modelIn(model, name)?.id ?? null;
}

/** `bpmn:UserTask` as the standard spells it in XML: `userTask`. */
export function tagOf({ $type }: Model): string {
  const name = $type.slice($type.indexOf(":") + 1);
  return name.slice(0, 1).toLowerCase() + name.slice(1);
}
