import { createServer } from "node:net";

/**
 * Below the ports that the system gives to connections and to whoever asks for any: a port that is found is taken a moment, or a
 * whole `initdb`, later, and one of those may be somebody's by then.
 */
const PORTS = { first: 12_000, count: 10_000 };
/** The bus of a Redis Cluster's node listens so far above. */
const BUS = 10_000;
const TRIES_MAX = 1_000;

/** A port of this machine that nobody listens on at this moment, and that of its bus neither. @returns {Promise<number>} */
export async function freePort() {
  for (let tries = 0; tries < TRIES_MAX; tries += 1) {
    const port = PORTS.first + Math.floor(Math.random() * PORTS.count);
    if ((await isFree(port)) && (await isFree(port + BUS))) return port;
  }
  throw new Error(`no port between ${PORTS.first} and ${PORTS.first + PORTS.count} is free`);
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
