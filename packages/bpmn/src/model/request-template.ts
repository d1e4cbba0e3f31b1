import { type Expression, textOrComputed } from "./process.ts";

/** The request of an HTTP task, in the properties of its element. Texts may be expressions, or contain them. */

type Properties = Readonly<Record<string, string>>;

export const HEADER = "header.";
const IN_URL = /[$#]\{([^{}]*)\}/g;
const COMPUTED = /^\s*(?:=|[$#]\{)/;

/**
 * A URL as the HTTP client takes it, and the expressions of its parts. A URL that begins with an expression is one expression, whose
 * parts are not encoded: the client does not accept a host with parts.
 */
export function urlTemplate(url: string): {
  readonly template: string | Expression;
  readonly parts: ReadonlyMap<string, Expression>;
} {
  const parts = new Map<string, Expression>();
  if (COMPUTED.test(url)) return { template: textOrComputed(url), parts };
  const template = url.replace(IN_URL, (whole, name: string) => {
    parts.set(name, textOrComputed(whole));
    return `{${name}}`;
  });
  return { template, parts };
}

/** A value with each text in it replaced by what `evaluate` returns for it. Texts without expressions stay as they are. */
export function resolved(value: unknown, evaluate: (expression: Expression) => unknown): unknown {
  if (typeof value === "string") {
    const expression = textOrComputed(value);
    return expression.isStatic ? value : evaluate(expression);
  }
  if (Array.isArray(value)) return value.map((item) => resolved(item, evaluate));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, resolved(item, evaluate)]));
}

/** The body of the request: the property `body`, or the JSON in `bodyJson`. Undefined if there is none. */
export function bodyOf({ body, bodyJson }: Properties): unknown {
  if (bodyJson === undefined) return body;
  try {
    return JSON.parse(bodyJson);
  } catch (error) {
    if (error instanceof SyntaxError) return bodyJson;
    throw error;
  }
}

/** Every expression of a request. Empty if the element has no URL. */
export function requestExpressions(properties: Properties): readonly Expression[] {
  if (properties.url === undefined) return [];
  const { template, parts } = urlTemplate(properties.url);
  const found: Expression[] = [...parts.values()];
  if (typeof template !== "string") found.push(template);
  const headers = Object.entries(properties).flatMap(([name, value]) => (name.startsWith(HEADER) ? [value] : []));
  resolved([properties.method, headers, bodyOf(properties)], (expression) => found.push(expression));
  return found;
}
