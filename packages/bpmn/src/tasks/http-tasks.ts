import { CriticalError, kinds, PawlError, readArgument } from "pawl";
import { evaluateExpression } from "../expressions.ts";
import type { HttpClient, HttpRequest } from "../http/http-client.ts";
import type { Element, Expression } from "../model/process.ts";
import { bodyOf, HEADER, resolved, urlTemplate } from "../model/request-template.ts";
import type { Job, TaskHandler } from "../program/handlers.ts";
import { systemNow } from "../runtime/system.ts";
import { timeoutOf } from "./task-timeout.ts";

/**
 * A handler of service tasks that sends an HTTP request. The properties of the task configure it: `method` (POST if there is a body,
 * otherwise GET), `url`, `header.Name`, `body`, `timeout` and `responseVariable`. A text that begins with `=` is FEEL, and a text may
 * contain `${expression}`; a URL also `{variable}`. A request that the client rejects is not retried. Registered as `http-connector`, it
 * executes the connectors of Camunda 7.
 */
export function httpTasks(client: HttpClient): TaskHandler {
  readArgument(kinds.withMethods("an HTTP client", "request"), client, "client");
  return async (job) => {
    const { properties } = job.element;
    try {
      const { body, status, headers } = await client.request(requestOf(job));
      if (properties.connector !== undefined)
        return isMapped(job.element) ? { response: body, statusCode: status, headers } : {};
      const variable = properties.responseVariable ?? "response";
      return "resultVariable" in job.element && job.element.resultVariable !== null ? body : { [variable]: body };
    } catch (error) {
      if (!(error instanceof PawlError) || error.code !== "HTTP_REFUSED") throw error;
      throw new CriticalError(error.message, { cause: error });
    }
  };
}

/** A connector assigns nothing but its outputs. */
function isMapped(element: Element): boolean {
  return "outputs" in element && element.outputs.length > 0;
}

function requestOf({ element, variables, idempotencyKey }: Job): HttpRequest {
  const { properties } = element;
  const { url, method } = properties;
  if (url === undefined) throw new CriticalError(`service task ${element.id} has no url; set its url property`);
  const now = systemNow();
  const evaluate = (expression: Expression): unknown => evaluateExpression(expression, variables, now);
  const { template, parts } = urlTemplate(url);
  const headers = Object.entries(properties).flatMap(([name, value]) =>
    name.startsWith(HEADER) ? [[name.slice(HEADER.length), String(resolved(value, evaluate) ?? "")] as const] : [],
  );
  const body = bodyOf(properties);
  return {
    url: typeof template === "string" ? template : String(evaluate(template) ?? ""),
    parts: { ...variables, ...Object.fromEntries([...parts].map(([name, part]) => [name, evaluate(part)])) },
    headers: Object.fromEntries(headers),
    idempotencyKey,
    method: method === undefined ? (body === undefined ? "GET" : "POST") : String(resolved(method, evaluate)),
    ...(body !== undefined && { body: resolved(body, evaluate) }),
    ...timeoutOf(element),
  };
}
