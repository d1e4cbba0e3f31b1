import { lookup } from "node:dns/promises";
import { type ClientRequest, type IncomingMessage, request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { isIP } from "node:net";
import type { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { PawlError } from "pawl";

interface HttpSendRequest {
  readonly url: URL;
  /** The checked address to connect to. The host name is not resolved again. */
  readonly address: string;
  readonly method: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | null;
  readonly timeoutMs: number;
  readonly responseBytesMax: number;
}

export interface HttpSendResponse {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

export async function resolveHost(host: string): Promise<readonly string[]> {
  if (isIP(host) !== 0) return [host];
  try {
    return (await lookup(host, { all: true, verbatim: true })).map(({ address }) => address);
  } catch (error) {
    throw new PawlError("HTTP_FAILED", `host ${host} not found; check the name`, { cause: error });
  }
}

/** Sends one request over its own connection. `timeoutMs` includes reading the whole response. */
export function sendHttp(sending: HttpSendRequest): Promise<HttpSendResponse> {
  const { url, address, timeoutMs } = sending;
  return new Promise((resolve, reject) => {
    const sent: ClientRequest = (url.protocol === "https:" ? requestHttps : requestHttp)(url, {
      method: sending.method,
      headers: { ...sending.headers, "accept-encoding": "gzip, deflate, br", connection: "close" },
      // No agent: requests share no connection, and no proxy of the environment is used.
      agent: false,
      lookup: (_host, { all }, callback) => {
        const family = isIP(address);
        if (all === true) callback(null, [{ address, family }]);
        else callback(null, address, family);
      },
    });
    const timer = setTimeout(
      () => sent.destroy(limit(`no complete response from ${url.host} within ${timeoutMs} ms`)),
      timeoutMs,
    );
    const fail = (error: Error): void => {
      clearTimeout(timer);
      sent.destroy();
      reject(error instanceof PawlError ? error : failed(url, error));
    };
    sent.on("error", fail);
    sent.on("response", (response) => {
      read(response, sending).then((body) => {
        clearTimeout(timer);
        resolve({ status: response.statusCode ?? 0, headers: headersOf(response), body });
      }, fail);
    });
    sent.end(sending.body ?? undefined);
  });
}

function limit(text: string): PawlError {
  return new PawlError("HTTP_LIMIT", text);
}

function failed(url: URL, error: Error): PawlError {
  return new PawlError("HTTP_FAILED", `request to ${url.host} failed: ${error.message}`, { cause: error });
}

function headersOf(response: IncomingMessage): Record<string, string> {
  return Object.fromEntries(
    Object.entries(response.headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(", ") : value]],
    ),
  );
}

function unpacked(response: IncomingMessage): Readable {
  switch (response.headers["content-encoding"]?.toLowerCase() ?? "identity") {
    case "gzip":
    case "x-gzip":
      return response.pipe(createGunzip());
    case "deflate":
      return response.pipe(createInflate());
    case "br":
      return response.pipe(createBrotliDecompress());
    default:
      return response;
  }
}

/** Limits the decompressed size, so that a small response cannot expand without bound. */
function read(response: IncomingMessage, { url, responseBytesMax }: HttpSendRequest): Promise<string> {
  return new Promise((resolve, reject) => {
    const stream = unpacked(response);
    const chunks: Buffer[] = [];
    let size = 0;
    response.on("error", reject);
    stream.on("error", reject);
    stream.on("data", (chunk: Buffer) => {
      size += chunk.length;
      chunks.push(chunk);
      if (size > responseBytesMax) {
        reject(limit(`response of ${url.host} has more than ${responseBytesMax} bytes; raise responseBytesMax`));
        stream.destroy();
      }
    });
    stream.on("end", () => resolve(Buffer.concat(chunks).toString("utf8")));
    response.on("aborted", () => reject(new Error("connection closed before the end of the response")));
  });
}
