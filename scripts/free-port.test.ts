import { once } from "node:events";
import { createServer } from "node:net";
import { expect, it, onTestFinished } from "vitest";
import { freePort } from "./free-port.mjs";

it("a free port and its cluster bus port are below the ephemeral ports", async () => {
  for (let attempt = 0; attempt < 3; attempt += 1) {
    const port = await freePort();
    const servers = [port, port + 10_000].map((each) => createServer().listen(each, "127.0.0.1"));
    onTestFinished(() => servers.forEach((server) => void server.close()));
    await Promise.all(servers.map((server) => once(server, "listening")));
    expect(port + 10_000).toBeLessThan(32_768);
  }
});
