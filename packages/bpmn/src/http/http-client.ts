import { guardArguments, kinds, optionTable, PawlError, readOptions } from "pawl";
import type { Json } from "../feel/json.ts";
import { type HttpSendResponse, resolveHost, sendHttp } from "../runtime/http-send.ts";
import {
  checkAddresses,
  checkHeaders,
  checkUrl,
  expandUrl,
  type HttpRules,
  refusal,
  type Target,
} from "./http-rules.ts";

export interface HttpClientOptions extends HttpRules {
  /** Maximum duration of one request, including the whole response. Default 10 s. */
  readonly timeoutMs?: number;
  /** Maximum size of the decompressed response. Default 1 MiB. */
  readonly responseBytesMax?: number;
  /** Maximum size of the request body. Default 1 MiB. */
  readonly requestBytesMax?: number;
  /** Redirects to follow, at most 3. Default 0. */
  readonly redirectsMax?: number;
  /** Resolves a host name to addresses. Default: the resolver of the system. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  /** Returns the value of a header written as `secret:name`. The value is used only in the request. */
  readonly secret?: (name: string) => string | undefined;
}

export interface HttpRequest {
  /** Default GET. */
  readonly method?: string;
  /** May contain `{name}` after the host, which is replaced by the encoded value of `parts`. */
  readonly url: string;
  readonly parts?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent as text, any other value as JSON. */
  readonly body?: unknown;
  /** Sent as `Idempotency-Key`. Use the same key for every attempt of a step. */
  readonly idempotencyKey?: string;
  /** Maximum duration of this request, including the whole response. Default: that of the client. */
  readonly timeoutMs?: number;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed JSON if the content type is JSON, otherwise text. */
  readonly body: Json;
}

/** Sends requests to public addresses and to trusted hosts. */
export interface HttpClient {
  request(request: HttpRequest): Promise<HttpResponse>;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const REDIRECTS_MAX = 3;

interface PreparedRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

const TIMEOUT_MS_MAX = 2 ** 31 - 1;
const PORT_MAX = 65_535;
const HOSTS = kinds.list(kinds.text);

const OPTIONS = optionTable<HttpClientOptions>("httpClient", {
  allowedHosts: HOSTS,
  trustedHosts: HOSTS,
  ports: kinds.list(kinds.integer(1, PORT_MAX)),
  timeoutMs: kinds.integer(1, TIMEOUT_MS_MAX),
  responseBytesMax: kinds.integer(0),
  requestBytesMax: kinds.integer(0),
  redirectsMax: kinds.integer(0),
  resolve: kinds.callback,
  secret: kinds.callback,
});
const REQUEST = optionTable<HttpRequest>("the request", {
  method: kinds.text,
  url: kinds.required(kinds.text),
  parts: kinds.map(kinds.value),
  headers: kinds.map(kinds.text),
  body: kinds.value,
  timeoutMs: kinds.integer(1, TIMEOUT_MS_MAX),
  idempotencyKey: kinds.text,
});

export function httpClient(given?: HttpClientOptions): HttpClient {
  const options = readOptions(OPTIONS, given);
  return {
    request: async (unchecked) => {
      const request = readOptions(REQUEST, unchecked);
      const url = expandUrl(request.url, request.parts ?? {});
      const prepared = guardArguments("body", () => prepareRequest(request, options, checkUrl(url, options)));
      const own = request.timeoutMs === undefined ? options : { ...options, timeoutMs: request.timeoutMs };
      const answer = await sendTo(url, prepared, own, Math.min(options.redirectsMax ?? 0, REDIRECTS_MAX));
      if (answer.status >= 400) {
        throw new PawlError(
          "HTTP_FAILED",
          `${prepared.method} request to ${hostOf(url)} failed with status ${answer.status}`,
        );
      }
      return { status: answer.status, headers: answer.headers, body: bodyOf(answer, url) };
    },
  };
}

function hostOf(url: string): string {
  return new URL(url).host;
}

function prepareRequest(request: HttpRequest, options: HttpClientOptions, { url }: Target): PreparedRequest {
  const method = (request.method ?? "GET").toUpperCase();
  if (!METHODS.includes(method)) throw refusal(url, `unknown method ${method}`);
  const { body: given } = request;
  const body = given === undefined || given === null ? null : typeof given === "string" ? given : JSON.stringify(given);
  const max = options.requestBytesMax ?? 1_048_576;
  if (body !== null && Buffer.byteLength(body) > max) {
    throw new PawlError(
      "HTTP_LIMIT",
      `request body for ${url.host} has more than ${max} bytes; it was not sent; raise requestBytesMax`,
    );
  }
  const type = typeof given === "string" ? "text/plain; charset=utf-8" : "application/json";
  const headers: Record<string, string> = {
    accept: "application/json, text/plain;q=0.9, */*;q=0.5",
    ...(body === null ? {} : { "content-type": type }),
    ...(request.idempotencyKey === undefined ? {} : { "idempotency-key": request.idempotencyKey }),
  };
  for (const [name, value] of Object.entries(request.headers ?? {}))
    headers[name.toLowerCase()] = withSecret(url, value, options);
  checkHeaders(url, headers);
  return { method, headers, body };
}

function withSecret(url: URL, value: string, { secret }: HttpClientOptions): string {
  if (!value.startsWith("secret:")) return value;
  const name = value.slice("secret:".length);
  const found = secret?.(name);
  if (found === undefined) throw refusal(url, `secret ${name} not found`);
  return found;
}

async function sendTo(
  url: string,
  prepared: PreparedRequest,
  options: HttpClientOptions,
  redirects: number,
): Promise<HttpSendResponse> {
  const target = checkUrl(url, options);
  const addresses = await (options.resolve ?? resolveHost)(target.host);
  checkAddresses(target, addresses);
  const [address = ""] = addresses;
  const answer = await sendHttp({
    ...prepared,
    url: target.url,
    // Connect to the checked address. A second name resolution could return another one.
    address,
    timeoutMs: options.timeoutMs ?? 10_000,
    responseBytesMax: options.responseBytesMax ?? 1_048_576,
  });
  const location = answer.headers.location;
  if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return answer;
  if (redirects === 0) throw refusal(target.url, "the response is a redirect; raise redirectsMax to follow it");
  const next = new URL(location, target.url);
  if (target.url.protocol === "https:" && next.protocol !== "https:")
    throw refusal(next, "redirect from https to http");
  return sendTo(next.href, redirected(prepared, answer.status, target.url, next), options, redirects - 1);
}

const PRIVATE_HEADERS = ["authorization", "cookie", "idempotency-key"];

/**
 * The request after a redirect. Status 301, 302 and 303 change every method but GET and HEAD to GET without a body. Another origin
 * receives neither the body nor private headers.
 */
function redirected(prepared: PreparedRequest, status: number, from: URL, to: URL): PreparedRequest {
  const keeps = status === 307 || status === 308 || prepared.method === "GET" || prepared.method === "HEAD";
  const isOther = from.origin !== to.origin;
  const headers = Object.entries(prepared.headers).filter(
    ([name]) =>
      !(isOther && (PRIVATE_HEADERS.includes(name) || name.startsWith("x-"))) && (keeps || name !== "content-type"),
  );
  return {
    method: keeps ? prepared.method : "GET",
    headers: Object.fromEntries(headers),
    body: keeps && !isOther ? prepared.body : null,
  };
}

function bodyOf(answer: HttpSendResponse, url: string): Json {
  if (!/^application\/(?:[\w.+-]+\+)?json\b/i.test(answer.headers["content-type"] ?? "")) return answer.body;
  try {
    return answer.body === "" ? null : (JSON.parse(answer.body) as Json);
  } catch (error) {
    throw new PawlError("HTTP_FAILED", `response of ${hostOf(url)} has content-type JSON but is not valid JSON`, {
      cause: error,
    });
  }
}
