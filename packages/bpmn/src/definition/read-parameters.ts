import { juelInside } from "../feel/juel.ts";
import { computed, type Expression, type Mapping, textOrComputed } from "../model/process.ts";
import { HEADER } from "../model/request-template.ts";
import { type Model, textIn } from "./moddle.ts";

/** The parameters of `camunda:inputOutput`, and of the connector that a task calls. */

export interface ReadParameters {
  readonly inputs: readonly Mapping[];
  readonly outputs: readonly Mapping[];
  /** Parameters whose value is a script, which is not executed. */
  readonly ignored: readonly string[];
}

export function parametersIn(model: Model | null): ReadParameters {
  const inputs: Mapping[] = [];
  const outputs: Mapping[] = [];
  const ignored: string[] = [];
  for (const each of model?.$children ?? []) {
    const source = sourceOf(each);
    const target = textIn(each, "target") ?? textIn(each, "name") ?? "";
    if (source === null) ignored.push(`${each.$type} ${target}`);
    else (localName(each.$type).startsWith("input") ? inputs : outputs).push({ source, target });
  }
  return { inputs, outputs, ignored };
}

/** The value of a parameter: its source, its text, or its list or map. Null if it is a script. */
function sourceOf(parameter: Model): Expression | null {
  if (textIn(parameter, "target") !== null) return computed(textIn(parameter, "source") ?? "");
  const [structure] = parameter.$children ?? [];
  if (structure === undefined) return textOrComputed(parameter.$body ?? "");
  const call = callOf(structure);
  return call === null ? null : computed(`\${${call}}`);
}

/** The JUEL call that makes the value of a list, a map, or an item of these. Null if it contains a script. */
function callOf(value: Model): string | null {
  const children = value.$children ?? [];
  switch (localName(value.$type)) {
    case "list":
      return joined("list", children.map(callOf));
    case "map":
      return joined(
        "map",
        children.flatMap((entry) => [juelInside(textIn(entry, "key") ?? ""), callOf(entry)]),
      );
    case "value":
    case "entry": {
      const [inner] = children;
      return inner === undefined ? juelInside(value.$body ?? "") : callOf(inner);
    }
    default:
      return null;
  }
}

function joined(name: string, parts: ReadonlyArray<string | null>): string | null {
  return parts.includes(null) ? null : `${name}(${parts.join(", ")})`;
}

/** The connector of a task. `properties` are those of an HTTP task, for the handler `http-connector`. */
export interface ReadConnector {
  readonly handler: string;
  readonly inputs: readonly Mapping[];
  readonly outputs: readonly Mapping[];
  readonly properties: Readonly<Record<string, string>>;
  readonly problems: readonly string[];
}

export const HTTP_CONNECTOR = "http-connector";

/** Reads `camunda:connector`. A parameter that cannot be evaluated is a problem: its request would be another one. */
export function connectorOf(connector: Model): ReadConnector {
  const id = childOf(connector, "connectorId")?.$body?.trim() ?? "";
  const held = childOf(connector, "inputOutput");
  const { inputs, outputs, ignored } = parametersIn(held);
  const problems = ignored.map(
    (name) => `${name} of the connector is a script, which is not executed; write an expression`,
  );
  if (id === "") problems.push("the connector has no connectorId; add one");
  if (id !== HTTP_CONNECTOR) return { handler: id, inputs, outputs, properties: {}, problems };
  const properties: Record<string, string> = { connector: id };
  for (const each of held?.$children ?? []) {
    const name = textIn(each, "name") ?? "";
    if (!localName(each.$type).startsWith("input")) continue;
    if (name === "headers") problems.push(...addHeaders(properties, each));
    else if (!REQUEST.has(name)) problems.push(`parameter ${name} of the connector is not known; remove it`);
    else properties[name === "payload" ? "body" : name] = writtenText(each, inputs);
  }
  if (properties.url === undefined) problems.push("the connector has no url; add the parameter");
  return { handler: id, inputs: [], outputs, properties, problems };
}

const REQUEST: ReadonlySet<string> = new Set(["url", "method", "payload"]);

/** The text of a parameter as it is written, because a URL encodes the expressions in it. A list or map is one expression. */
function writtenText(parameter: Model, inputs: readonly Mapping[]): string {
  const isPlain = (parameter.$children ?? []).length === 0;
  const name = textIn(parameter, "name");
  return isPlain ? (parameter.$body?.trim() ?? "") : (inputs.find(({ target }) => target === name)?.source.text ?? "");
}

function addHeaders(properties: Record<string, string>, parameter: Model): readonly string[] {
  const map = childOf(parameter, "map");
  if (map === null) return ["the headers of the connector must be a map; write one"];
  for (const entry of map.$children ?? [])
    properties[`${HEADER}${textIn(entry, "key") ?? ""}`] = entry.$body?.trim() ?? "";
  return [];
}

function childOf(model: Model, name: string): Model | null {
  return (model.$children ?? []).find(({ $type }) => localName($type) === name) ?? null;
}

function localName(name: string): string {
  return name.slice(name.indexOf(":") + 1);
}
