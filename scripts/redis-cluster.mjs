import { createClient } from "@redis/client";
import { startRedis } from "./redis-server.mjs";

/**
 * A Redis Cluster of three nodes for tests. Each node has a third of the slots and no replica.
 *
 * @typedef {object} RedisCluster
 * @property {readonly string[]} urls
 * @property {string} url All URLs, separated by commas.
 * @property {() => Promise<void>} kill Kills the next node.
 * @property {() => Promise<void>} start Restarts the killed node.
 * @property {() => void} freeze Stops all nodes with their connections open, so that they do not reply.
 * @property {() => Promise<void>} stop
 */

const NODES = 3;
const SLOTS = 16_384;
const STATE_CHECKS_MAX = 1_000;

/** @param {Readonly<Record<string, string>>} [settings] @returns {Promise<RedisCluster>} */
export async function startCluster(settings = {}) {
  const own = { "cluster-enabled": "yes", "cluster-node-timeout": "5000", ...settings };
  const servers = await Promise.all(Array.from({ length: NODES }, () => startRedis(own)));
  const clients = servers.map(({ url }) => createClient({ url }));
  await Promise.all(clients.map((client) => client.connect()));
  for (const [index, client] of clients.entries()) {
    const [first, next] = [index, index + 1].map((part) => Math.floor((part * SLOTS) / NODES));
    await client.sendCommand(["CLUSTER", "ADDSLOTSRANGE", String(first), String(Number(next) - 1)]);
    for (const { port } of servers.slice(0, index)) {
      await client.sendCommand(["CLUSTER", "MEET", "127.0.0.1", String(port)]);
    }
  }
  for (const client of clients) await joined(client);
  for (const client of clients) client.destroy();
  let victim = 0;
  return {
    urls: servers.map(({ url }) => url),
    url: servers.map(({ url }) => url).join(","),
    kill: async () => {
      victim += 1;
      await servers[victim % NODES]?.kill();
    },
    start: async () => {
      await servers[victim % NODES]?.start();
    },
    freeze: () => {
      for (const server of servers) server.freeze();
    },
    stop: async () => {
      await Promise.all(servers.map((server) => server.stop()));
    },
  };
}

/** Resolves when the node knows all nodes and the owner of every slot. @param {{ sendCommand(args: string[]): Promise<any> }} client */
async function joined(client) {
  for (let check = 0; check < STATE_CHECKS_MAX; check += 1) {
    const info = String(await client.sendCommand(["CLUSTER", "INFO"]));
    if (/cluster_state:ok/.test(info) && info.includes(`cluster_known_nodes:${NODES}`)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  throw new Error("the Redis nodes did not form a cluster");
}
