import { PawlError } from "pawl";
import type { Json } from "../feel/json.ts";
import { type HttpSendResponse, resolveHost, sendHttp } from "../runtime/http-send.ts";
import {
  checkAddresses,
  checkHeaders,
  checkUrl,
  filledUrl,
  type HttpRules,
  refusal,
  type Target,
} from "./http-rules.ts";

export interface HttpClientOptions extends HttpRules {
  readonly timeoutMs?: number;
  /** Of the answer, unpacked. */
  readonly responseBytesMax?: number;
  readonly requestBytesMax?: number;
  /** None are followed unless this says so; three at most. */
  readonly redirectsMax?: number;
  /** Gives the addresses of a name; the system's resolver unless said otherwise. */
  readonly resolve?: (host: string) => Promise<readonly string[]>;
  /** Gives the value for a header that is written as `secret:name`. It goes into the request and nowhere else. */
  readonly secret?: (name: string) => string | undefined;
}

export interface HttpRequest {
  readonly method?: string;
  /** May hold `{name}` after its host; `parts` gives the text, which is encoded. */
  readonly url: string;
  readonly parts?: Readonly<Record<string, unknown>>;
  readonly headers?: Readonly<Record<string, string>>;
  /** Text is sent as it is, everything else as JSON. */
  readonly body?: unknown;
  /** Sent as `Idempotency-Key`: the same for each attempt of a step. */
  readonly idempotencyKey?: string;
}

export interface HttpResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** JSON where the answer says that it is JSON, else text. */
  readonly body: Json;
}

/** Sends requests to the public net, and to the hosts that it is told to trust. */
export interface HttpClient {
  request(request: HttpRequest): Promise<HttpResponse>;
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const REDIRECTS_MAX = 3;

interface Prepared {
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
}

export function httpClient(options: HttpClientOptions = {}): HttpClient {
  return {
    request: async (request) => {
      const url = filledUrl(request.url, request.parts ?? {});
      const prepared = preparedOf(request, options, checkUrl(url, options));
      const answer = await sendTo(url, prepared, options, Math.min(options.redirectsMax ?? 0, REDIRECTS_MAX));
      if (answer.status >= 400) {
        throw new PawlError("HTTP_FAILED", `${prepared.method} ${hostOf(url)} answered with status ${answer.status}`);
      }
      return { status: answer.status, headers: answer.headers, body: bodyOf(answer, url) };
    },
  };
}

function hostOf(url: string): string {
  return new URL(url).host;
}

function preparedOf(request: HttpRequest, options: HttpClientOptions, { url }: Target): Prepared {
  const method = (request.method ?? "GET").toUpperCase();
  if (!METHODS.includes(method)) throw refusal(url, `there is no method ${method}`);
  const { body: given } = request;
  const body = given === undefined || given === null ? null : typeof given === "string" ? given : JSON.stringify(given);
  const max = options.requestBytesMax ?? 1_048_576;
  if (body !== null && Buffer.byteLength(body) > max) {
    throw new PawlError("HTTP_LIMIT", `the body for ${url.host} has more than ${max} bytes; it was not sent`);
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
  if (found === undefined) throw refusal(url, `there is no secret ${name}`);
  return found;
}

async function sendTo(
  url: string,
  prepared: Prepared,
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
    // What was checked is what is connected to: the name is not looked up again.
    address,
    timeoutMs: options.timeoutMs ?? 10_000,
    responseBytesMax: options.responseBytesMax ?? 1_048_576,
  });
  const location = answer.headers.location;
  if (![301, 302, 303, 307, 308].includes(answer.status) || location === undefined) return answer;
  if (redirects === 0) throw refusal(target.url, "it redirects elsewhere, and redirects are not followed");
  const next = new URL(location, target.url);
  if (target.url.protocol === "https:" && next.protocol !== "https:")
    throw refusal(next, "it leads from https to http");
  return sendTo(next.href, redirected(prepared, answer.status, target.url, next), options, redirects - 1);
}

const PRIVATE_HEADERS = ["authorization", "cookie", "idempotency-key"];

/** Another origin hears nothing that was meant for the first; only 307 and 308 repeat a body. */
function redirected(prepared: Prepared, status: number, from: URL, to: URL): Prepared {
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
    throw new PawlError("HTTP_FAILED", `${hostOf(url)} says that it answers with JSON, and does not`, { cause: error });
  }
}
