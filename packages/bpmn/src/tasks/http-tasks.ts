import { CriticalError, kinds, PawlError, readArgument } from "pawl";
import { evaluateText } from "../feel/feel.ts";
import type { HttpClient, HttpRequest } from "../http/http-client.ts";
import type { Job, TaskHandler } from "../program/handlers.ts";

const HEADER = "header.";

/**
 * A handler of service tasks that sends an HTTP request. The properties of the task configure it: `method`, `url`, which may contain
 * `{variable}`, `header.Name`, `body` and `responseVariable`. A header or body that begins with `=` is FEEL. A request that the
 * client rejects is not retried.
 */
export function httpTasks(client: HttpClient): TaskHandler {
  readArgument(kinds.withMethods("an HTTP client", "request"), client, "client");
  return async (job) => {
    const { properties } = job.element;
    try {
      const { body } = await client.request(requestOf(job));
      const variable = properties.responseVariable ?? "response";
      return "resultVariable" in job.element && job.element.resultVariable !== null ? body : { [variable]: body };
    } catch (error) {
      if (!(error instanceof PawlError) || error.code !== "HTTP_REFUSED") throw error;
      throw new CriticalError(error.message, { cause: error });
    }
  };
}

function requestOf({ element, variables, idempotencyKey }: Job): HttpRequest {
  const { url, method, body } = element.properties;
  if (url === undefined) throw new CriticalError(`service task ${element.id} has no url; set its url property`);
  const headers = Object.entries(element.properties).flatMap(([name, value]) =>
    name.startsWith(HEADER) ? [[name.slice(HEADER.length), String(computed(value, variables) ?? "")] as const] : [],
  );
  return {
    url,
    parts: variables,
    headers: Object.fromEntries(headers),
    idempotencyKey,
    ...(method === undefined ? {} : { method }),
    ...(body === undefined ? {} : { body: computed(body, variables) }),
  };
}

function computed(text: string, variables: Job["variables"]): unknown {
  return text.startsWith("=") ? evaluateText(text.slice(1), variables).value : text;
}
