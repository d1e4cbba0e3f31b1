import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "./free-port.mjs";

it("a port lies below those that the system gives away, and so does that of its bus", async () => {
  for (let tries = 0; tries < 3; tries += 1) {
    const port = await freePort();
    const servers = [port, port + 10_000].map((each) => createServer().listen(each, "127.0.0.1"));
    onTestFinished(() => servers.forEach((server) => void server.close()));
    await Promise.all(servers.map((server) => once(server, "listening")));
    expect(port + 10_000).toBeLessThan(32_768);
  }
});
