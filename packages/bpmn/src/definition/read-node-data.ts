import type { RetrySetting } from "../model/process.ts";
import { RETRY_DEFAULT } from "./extensions.ts";

/** What the data of a node in a graph says to those who handle it. */

type Data = Readonly<Record<string, unknown>>;

/** What is text stays that, the rest is JSON; a request is told as a document's properties tell it. */
export function propertiesOf(data: Data): Readonly<Record<string, string>> {
  const own = Object.entries(data).map(([name, value]) => [name, shown(value)] as const);
  return { ...Object.fromEntries(own), ...requestOf(data.serviceConfig) };
}

function requestOf(config: unknown): Readonly<Record<string, string>> {
  if (typeof config !== "object" || config === null) return {};
  const { url, method, headers, requestBody, body = requestBody, responseVariable } = config as Data;
  const named = Object.entries((headers ?? {}) as Data).map(([name, value]) => [`header.${name}`, shown(value)]);
  return {
    ...Object.fromEntries(named),
    // Variables in an address are written `{name}`.
    ...(typeof url === "string" && { url: url.replace(/\$\{/g, "{") }),
    ...(typeof method === "string" && { method }),
    ...(body !== undefined && { body: typeof body === "string" ? body : `=${JSON.stringify(body)}` }),
    ...(typeof responseVariable === "string" && { responseVariable }),
  };
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

const WAIT_MAX_MS = 30_000;

/** `retry: { max, backoff }`: how often it is tried again, and how waits grow. */
export function retryOf(data: Data): RetrySetting | null {
  const { max, backoff } = (data.retry ?? {}) as Data;
  if (typeof max !== "number" || !Number.isInteger(max) || max < 0) return null;
  const kind = backoff === "linear" || backoff === "fixed" ? backoff : "exponential";
  return { ...RETRY_DEFAULT, tries: max + 1, backoff: kind, maxMs: WAIT_MAX_MS };
}
