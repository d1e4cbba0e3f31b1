import { createServer } from "node:net";

/**
 * Below the ephemeral ports of the system. A free port is used only later, for PostgreSQL after `initdb`, and an ephemeral port could
 * be taken until then.
 */
const PORTS = { first: 12_000, count: 10_000 };
/** The cluster bus of a Redis node listens on its port plus this offset. */
const BUS = 10_000;
const ATTEMPTS_MAX = 1_000;

/** A local port that is free together with its cluster bus port. @returns {Promise<number>} */
export async function freePort() {
  for (let attempt = 0; attempt < ATTEMPTS_MAX; attempt += 1) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    if ((await isFree(port)) && (await isFree(port + BUS))) return port;
  }
  throw new Error(`no free port found between ${PORTS.first} and ${PORTS.first + PORTS.count}; stop other servers`);
}

/** @param {number} port @returns {Promise<boolean>} */
function isFree(port) {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once("error", (/** @type {{ readonly code?: string }} */ error) => {
      if (error.code === "EADDRINUSE" || error.code === "EACCES") resolve(false);
      else reject(error);
    });
    server.listen(port, "127.0.0.1", () => server.close(() => resolve(true)));
  });
}
