import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterEach, describe, expect, test } from "vitest";
import { type HttpClientOptions, httpClient } from "./http-client.ts";

const servers: Server[] = [];
afterEach(() => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

async function serve(answer: (request: IncomingMessage, response: ServerResponse) => void): Promise<string> {
  const server = createServer(answer);
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  return `127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const clientFor = (host: string, options: HttpClientOptions = {}) => httpClient({ trustedHosts: [host], ...options });

describe("HTTP requests", () => {
  test("an HTTP request sends method, headers and JSON, and receives JSON", async () => {
    const host = await serve((request, response) => {
      let body = "";
      request.on("data", (chunk) => {
        body += chunk;
      });
      request.on("end", () => {
        response.setHeader("content-type", "application/json");
        response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }));
      });
    });
    const client = clientFor(host, { secret: (name) => (name === "token" ? "Bearer t" : undefined) });
    const { status, body } = await client.request({
      method: "post",
      url: `http://${host}/orders/{id}`,
      parts: { id: "a/b" },
      headers: { Authorization: "secret:token" },
      body: { a: 1 },
      idempotencyKey: "k1",
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      method: "POST",
      url: "/orders/a%2Fb",
      body: '{"a":1}',
      headers: { authorization: "Bearer t", "idempotency-key": "k1", "content-type": "application/json", host },
    });
    await expect(client.request({ url: `http://${host}/`, headers: { a: "secret:none" } })).rejects.toMatchObject({
      code: "HTTP_REFUSED",
    });
  });

  test("an HTTP request fails on an error status, a broken response or a refused connection", async () => {
    const host = await serve((request, response) => {
      if (request.url === "/broken") {
        response.writeHead(200, { "content-length": "100" });
        response.write("x");
        response.destroy();
      } else if (request.url === "/lies") response.writeHead(200, { "content-type": "application/json" }).end("{");
      else response.writeHead(503).end();
    });
    const client = clientFor(host);
    for (const path of ["", "broken", "lies"]) {
      await expect(client.request({ url: `http://${host}/${path}` })).rejects.toMatchObject({ code: "HTTP_FAILED" });
    }
    await expect(clientFor("127.0.0.1:1").request({ url: "http://127.0.0.1:1/" })).rejects.toMatchObject({
      code: "HTTP_FAILED",
    });
  });

  test("an HTTP request connects to the checked address without a second resolution", async () => {
    let hits = 0;
    const host = await serve((request, response) => {
      hits += 1;
      response.end(request.headers.host);
    });
    const port = host.split(":")[1];
    const answers = [["127.0.0.1"], ["10.0.0.1"]];
    const client = httpClient({ trustedHosts: [`rebind.test:${port}`], resolve: async () => answers.shift() ?? [] });
    const { body } = await client.request({ url: `http://rebind.test:${port}/` });
    expect([body, hits, answers.length]).toEqual([`rebind.test:${port}`, 1, 1]);
  });

  test("an HTTP request is not sent if one address of its host is private", async () => {
    let hits = 0;
    const host = await serve((_, response) => {
      hits += 1;
      response.end();
    });
    const client = httpClient({ ports: [Number(host.split(":")[1])], resolve: async () => ["8.8.8.8", "127.0.0.1"] });
    await expect(client.request({ url: `http://rebind.test:${host.split(":")[1]}/` })).rejects.toMatchObject({
      code: "HTTP_REFUSED",
    });
    expect(hits).toBe(0);
  });
});

describe("limits of HTTP responses", () => {
  test.each<[string, (response: ServerResponse) => void]>([
    [
      "an endless body",
      (response) =>
        void response.write("x".repeat(70_000), function more() {
          response.write("x".repeat(70_000), more);
        }),
    ],
    [
      "a compression bomb",
      (response) => response.setHeader("content-encoding", "gzip").end(gzipSync(Buffer.alloc(50_000_000))),
    ],
    ["a body that stops after one byte", (response) => void response.writeHead(200).write("x")],
    ["a missing response", () => {}],
  ])("%s exceeds a limit of the HTTP client", async (_, answer) => {
    const host = await serve((_request, response) => answer(response));
    const client = clientFor(host, { responseBytesMax: 100_000, timeoutMs: 300 });
    await expect(client.request({ url: `http://${host}/` })).rejects.toMatchObject({ code: "HTTP_LIMIT" });
  });

  test("a compressed response within the limit is decompressed", async () => {
    const host = await serve((_, response) => response.setHeader("content-encoding", "gzip").end(gzipSync("hello")));
    expect((await clientFor(host).request({ url: `http://${host}/` })).body).toBe("hello");
  });

  test("a request body above the limit is not sent", async () => {
    await expect(
      clientFor("127.0.0.1:1", { requestBytesMax: 10 }).request({ url: "http://127.0.0.1:1/", body: "x".repeat(11) }),
    ).rejects.toMatchObject({ code: "HTTP_LIMIT" });
  });
});

describe("HTTP redirects", () => {
  const redirecting = (to: () => string) =>
    serve((request, response) => {
      if (request.url === "/start") response.writeHead(302, { location: to() }).end();
      else response.end(JSON.stringify(request.headers));
    });

  test("a redirect is not followed by default", async () => {
    const host = await redirecting(() => "/end");
    await expect(clientFor(host).request({ url: `http://${host}/start` })).rejects.toMatchObject({
      code: "HTTP_REFUSED",
    });
  });

  test("the target of a redirect is checked like the first URL", async () => {
    for (const to of [
      "http://169.254.169.254/latest/meta-data",
      "http://127.0.0.1:1/",
      "file:///etc/passwd",
      "http://[::1]/",
    ]) {
      const host = await redirecting(() => to);
      await expect(clientFor(host, { redirectsMax: 3 }).request({ url: `http://${host}/start` })).rejects.toMatchObject(
        { code: "HTTP_REFUSED" },
      );
    }
  });

  test("a redirect sends no private headers to another origin", async () => {
    const other = await serve((request, response) => response.end(JSON.stringify(request.headers)));
    const host = await redirecting(() => `http://${other}/`);
    const client = httpClient({ trustedHosts: [host, other], redirectsMax: 1 });
    const { body } = await client.request({
      url: `http://${host}/start`,
      headers: { authorization: "a", cookie: "c", "x-key": "k" },
    });
    expect(JSON.parse(String(body))).not.toMatchObject({ authorization: expect.anything() });
    expect(String(body)).not.toMatch(/cookie|x-key/);
  });

  test("a redirect loop ends after three redirects", async () => {
    const host = await serve((_, response) => response.writeHead(302, { location: "/" }).end());
    await expect(clientFor(host, { redirectsMax: 100 }).request({ url: `http://${host}/` })).rejects.toMatchObject({
      code: "HTTP_REFUSED",
    });
  });
});
