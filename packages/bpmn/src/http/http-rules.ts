import { PawlError } from "pawl";
import { addressBytes, isPublicAddress } from "./address.ts";

/** Where requests may go. */
export interface HttpRules {
  /** Names that requests may go to: `api.example.com`, or `*.example.com` for all below. Without it, every public one. */
  readonly allowedHosts?: readonly string[];
  /** `host` or `host:port` inside of your own network, which the rules on addresses and ports do not hold for. */
  readonly trustedHosts?: readonly string[];
  /** 80 and 443 unless said otherwise. */
  readonly ports?: readonly number[];
}

export interface Target {
  readonly url: URL;
  /** The name or address, without brackets and without a dot at its end. */
  readonly host: string;
  readonly port: number;
  readonly isTrusted: boolean;
}

export function refusal(url: URL | string, reason: string): PawlError {
  const shown = typeof url === "string" ? url.slice(0, 200) : `${url.protocol}//${url.host}`;
  return new PawlError("HTTP_REFUSED", `the request to ${shown} was refused: ${reason}`);
}

/** Checks everything about an address that can be known without asking anybody. */
export function checkUrl(text: string, rules: HttpRules): Target {
  const url = urlOf(text);
  if (url.protocol !== "http:" && url.protocol !== "https:") throw refusal(url, "only http and https are spoken");
  if (url.username !== "" || url.password !== "") throw refusal(url, "an address must not hold a user or password");
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
  if (!(rules.ports ?? [80, 443]).includes(port)) throw refusal(url, `the port ${port} is not among those allowed`);
  if (rules.allowedHosts !== undefined && !rules.allowedHosts.some((pattern) => matches(host, pattern))) {
    throw refusal(url, "its host is not among those allowed");
  }
  if (addressBytes(host) !== null) checkAddresses(target, [host]);
  return target;
}

function urlOf(text: string): URL {
  // What URL would drop silently, or take for something else, is refused before it is read.
  if ([...text].some((char) => char <= " " || char === "\u007f" || char === "\\"))
    throw refusal(text, "it holds blanks, control characters or backslashes");
  try {
    return new URL(text);
  } catch (error) {
    if (error instanceof TypeError) throw refusal(text, "it is no address");
    throw error;
  }
}

function matches(host: string, pattern: string): boolean {
  return pattern.startsWith("*.") ? host.endsWith(pattern.slice(1)) : host === pattern;
}

/** All addresses of a name have to be public: the one that is used could be any. */
export function checkAddresses({ url, isTrusted }: Target, addresses: readonly string[]): void {
  if (addresses.length === 0) throw refusal(url, "its host has no address");
  if (isTrusted) return;
  const closed = addresses.find((address) => !isPublicAddress(address));
  if (closed !== undefined) throw refusal(url, `${closed} is not a public address`);
}

const HEADER_NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/;
/** These are the transport's own. */
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

/** Headers that can't end early or speak for the transport. */
export function checkHeaders(url: URL, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) {
    if (!HEADER_NAME.test(name)) throw refusal(url, `${JSON.stringify(name)} is no name of a header`);
    if (OWN_HEADERS.includes(name.toLowerCase())) throw refusal(url, `the header ${name} can't be set`);
    if (/[^\t\u0020-\u007e\u0080-\u00ff]/.test(value))
      throw refusal(url, `the header ${name} holds characters that it must not`);
  }
}

/** Puts parts into `{name}` of a template, each encoded: no part can become more than the part that it is. */
export function filledUrl(template: string, parts: Readonly<Record<string, unknown>>): string {
  return template.replace(/\{([^{}]*)\}/g, (whole, name: string) => {
    const part = Object.hasOwn(parts, name) ? parts[name] : undefined;
    if (typeof part !== "string" && typeof part !== "number" && typeof part !== "boolean") {
      throw refusal(template, `there is no text for ${whole}`);
    }
    const text = String(part);
    if (text === "." || text === "..") throw refusal(template, `${whole} would be a step in the path`);
    const before = template.slice(0, template.indexOf(whole));
    if (!/^https?:\/\/[^/?#]+[/?#]/.test(before)) throw refusal(template, `${whole} stands where the host is`);
    return encodeURIComponent(text);
  });
}
