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

describe("a request", () => {
  test("sends method, headers and JSON, and gets JSON", async () => {
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

  test("fails by a status, by a broken answer, by nobody there", async () => {
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

  test("goes to the address that was checked, however the name changes", async () => {
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

  test("goes nowhere when one address of the name is private", async () => {
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

describe("an answer that is too much", () => {
  test.each<[string, (response: ServerResponse) => void]>([
    [
      "a body without end",
      (response) =>
        void response.write("x".repeat(70_000), function more() {
          response.write("x".repeat(70_000), more);
        }),
    ],
    [
      "a packed bomb",
      (response) => response.setHeader("content-encoding", "gzip").end(gzipSync(Buffer.alloc(50_000_000))),
    ],
    ["a head and then nothing", (response) => void response.writeHead(200).write("x")],
    ["nothing", () => {}],
  ])("%s is given up", async (_, answer) => {
    const host = await serve((_request, response) => answer(response));
    const client = clientFor(host, { responseBytesMax: 100_000, timeoutMs: 300 });
    await expect(client.request({ url: `http://${host}/` })).rejects.toMatchObject({ code: "HTTP_LIMIT" });
  });

  test("a packed answer within bounds is unpacked", async () => {
    const host = await serve((_, response) => response.setHeader("content-encoding", "gzip").end(gzipSync("hello")));
    expect((await clientFor(host).request({ url: `http://${host}/` })).body).toBe("hello");
  });

  test("a body that is too large is not sent", async () => {
    await expect(
      clientFor("127.0.0.1:1", { requestBytesMax: 10 }).request({ url: "http://127.0.0.1:1/", body: "x".repeat(11) }),
    ).rejects.toMatchObject({ code: "HTTP_LIMIT" });
  });
});

describe("a redirect", () => {
  const redirecting = (to: () => string) =>
    serve((request, response) => {
      if (request.url === "/start") response.writeHead(302, { location: to() }).end();
      else response.end(JSON.stringify(request.headers));
    });

  test("is not followed unless asked for", async () => {
    const host = await redirecting(() => "/end");
    await expect(clientFor(host).request({ url: `http://${host}/start` })).rejects.toMatchObject({
      code: "HTTP_REFUSED",
    });
  });

  test("is checked like the first address", async () => {
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

  test("carries nothing private to another origin", async () => {
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

  test("that goes round ends", async () => {
    const host = await serve((_, response) => response.writeHead(302, { location: "/" }).end());
    await expect(clientFor(host, { redirectsMax: 100 }).request({ url: `http://${host}/` })).rejects.toMatchObject({
      code: "HTTP_REFUSED",
    });
  });
});
