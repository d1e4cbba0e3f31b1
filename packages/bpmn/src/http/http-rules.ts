import { PawlError } from "pawl";
import { addressBytes, isPublicAddress } from "./address.ts";

/** Rules for the targets of requests. */
export interface HttpRules {
  /** Allowed host names: `api.example.com`, or `*.example.com` for all subdomains. Default: every public host. */
  readonly allowedHosts?: readonly string[];
  /** `host` or `host:port` in your own network. The rules for addresses, ports and `allowedHosts` do not apply to them. */
  readonly trustedHosts?: readonly string[];
  /** Allowed ports. Default 80 and 443. */
  readonly ports?: readonly number[];
}

export interface Target {
  readonly url: URL;
  /** The host name or address, without brackets and without a final dot. */
  readonly host: string;
  readonly port: number;
  readonly isTrusted: boolean;
}

/** Checks everything about a URL that needs no name resolution. */
export function checkUrl(text: string, rules: HttpRules): Target {
  const url = urlOf(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") throw refusal(url, "scheme is not http or https");
  if (url.username !== "" || url.password !== "")
    throw refusal(url, "URL contains a user or password; send an authorization header");
  const host = url.hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  const port = url.port === "" ? (url.protocol === "https:" ? 443 : 80) : Number(url.port);
  const isTrusted = (rules.trustedHosts ?? []).some(
    (trusted) => trusted === host || trusted === `${host}:${port}` || trusted === url.host,
  );
  const target: Target = { url, host, port, isTrusted };
  if (isTrusted) return target;
  if (!(rules.ports ?? [80, 443]).includes(port)) throw refusal(url, `port ${port} is not allowed; add it to ports`);
  if (rules.allowedHosts !== undefined && !rules.allowedHosts.some((pattern) => matches(host, pattern))) {
    throw refusal(url, "host is not allowed; add it to allowedHosts");
  }
  if (addressBytes(host) !== null) checkAddresses(target, [host]);
  return target;
}

function urlOf(text: string): URL {
  // `new URL` would silently drop or reinterpret these characters.
  if ([...text].some((char) => char <= " " || char === "\u007f" || char === "\\"))
    throw refusal(text, "URL contains blanks, control characters or backslashes");
  try {
    return new URL(text);
  } catch (error) {
    if (error instanceof TypeError) throw refusal(text, "URL is not valid");
    throw error;
  }
}

function matches(host: string, pattern: string): boolean {
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern;
}

/** All addresses of a host must be public, because the connection may use any of them. */
export function checkAddresses({ url, isTrusted }: Target, addresses: readonly string[]): void {
  if (addresses.length === 0) throw refusal(url, "host has no address");
  if (isTrusted) return;
  const closed = addresses.find((address) => !isPublicAddress(address));
  if (closed !== undefined)
    throw refusal(url, `${closed} is not a public address; add the host to trustedHosts to allow it`);
}

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** Headers that only the transport may set. */
const OWN_HEADERS = [
  "host",
  "content-length",
  "transfer-encoding",
  "connection",
  "upgrade",
  "te",
  "trailer",
  "expect",
  "keep-alive",
  "proxy-authorization",
  "proxy-connection",
];

/** Rejects headers that could inject other headers or belong to the transport. */
export function checkHeaders(url: URL, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) throw refusal(url, `${JSON.stringify(name)} is not a valid header name`);
    if (OWN_HEADERS.includes(name.toLowerCase()))
      throw refusal(url, `header ${name} cannot be set; the transport sets it`);
    if (/[^\t\u0020-\u007e\u0080-\u00ff]/.test(value)) throw refusal(url, `header ${name} contains invalid characters`);
  }
}

/** Replaces `{name}` in a URL template by the encoded part, so a part cannot change the structure of the URL. */
export function expandUrl(template: string, parts: Readonly<Record<string, unknown>>): string {
  return template.replace(/\{([^{}]*)\}/g, (whole, name: string) => {
    const part = Object.hasOwn(parts, name) ? parts[name] : undefined;
    if (typeof part !== "string" && typeof part !== "number" && typeof part !== "boolean") {
      throw refusal(template, `variable ${whole} is not a text, number or boolean`);
    }
    const text = String(part);
    if (text === "." || text === "..") throw refusal(template, `variable ${whole} must not be . or ..`);
    const before = template.slice(0, template.indexOf(whole));
    if (!/^https?:\/\/[^/?#]+[/?#]/.test(before))
      throw refusal(template, `variable ${whole} must not be part of the host`);
    return encodeURIComponent(text);
  });
}

export function refusal(url: URL | string, reason: string): PawlError {
  const shown = typeof url === "string" ? url.slice(0, 200) : `${url.protocol}//${url.host}`;
  return new PawlError("HTTP_REFUSED", `request to ${shown} was rejected: ${reason}`);
}
