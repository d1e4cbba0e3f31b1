import { PawlError } from "../../model/errors.ts";
import type { RedisClient } from "./connection.ts";

type Driver = typeof import("@redis/client");

export interface ClientOptions {
  /** A connection on which nothing was heard for so long is given up. */
  readonly silenceMs: number;
}

/** A connection that is lost is tried again after this long, doubled each time up to the second number. */
const RECONNECT_MS = 20;
const RECONNECT_MS_MAX = 1_000;
/** How often it is tried before the first time that it works. */
const FIRST_TRIES = 3;

/** A client of one server, or of the cluster that these nodes belong to. */
export async function redisClient(source: string | readonly string[], options: ClientOptions): Promise<RedisClient> {
  const driver = await loadDriver();
  return typeof source === "string" ? serverClient(driver, source, options) : clusterClient(driver, source, options);
}

async function loadDriver(): Promise<Driver> {
  try {
    return await import("@redis/client");
  } catch (cause) {
    throw new PawlError("STORE_UNSUPPORTED", "the package @redis/client can't be loaded; install it", { cause });
  }
}

function clientOptions({ silenceMs }: ClientOptions) {
  let connected = false;
  return {
    settings: {
      disableOfflineQueue: true,
      disableClientInfo: true,
      maintNotifications: "disabled" as const,
      pingInterval: Math.ceil(silenceMs / 3),
      socket: {
        socketTimeout: silenceMs,
        connectTimeout: silenceMs,
        reconnectStrategy: (tries: number, cause: Error) =>
          connected || tries < FIRST_TRIES ? Math.min(RECONNECT_MS * 2 ** tries, RECONNECT_MS_MAX) : cause,
      },
    },
    onConnected: () => {
      connected = true;
    },
  };
}

function serverClient({ createClient }: Driver, url: string, options: ClientOptions): RedisClient {
  const { settings, onConnected } = clientOptions(options);
  const client = createClient({ url, ...settings });
  // What is lost is told by the commands that fail; an event without a listener would end the process.
  client.on("error", () => undefined);
  client.on("ready", onConnected);
  let closed = false;
  // A connection that is being made can't be broken, and would be kept: it is broken when it is there.
  client.on("connect", () => closed && client.destroy());
  return {
    connect: () => client.connect(),
    send: (_key, args) => client.sendCommand(args),
    subscribe: (channel, listener) => client.subscribe(channel, listener),
    onReady: (listener) => void client.on("ready", listener),
    close: async () => {
      closed = true;
      client.destroy();
    },
  };
}

function clusterClient({ createCluster }: Driver, urls: readonly string[], options: ClientOptions): RedisClient {
  const { settings, onConnected } = clientOptions(options);
  const cluster = createCluster({
    rootNodes: urls.map((url) => ({ url })),
    defaults: { ...settings, ...credentialsOf(urls[0] ?? "") },
  });
  cluster.on("error", () => undefined);
  return {
    connect: async () => {
      await cluster.connect();
      onConnected();
    },
    send: (key, args) => cluster.sendCommand(key, false, [...args]),
    subscribe: (channel, listener) => cluster.subscribe(channel, listener),
    onReady: (listener) => void cluster.on("node-ready", listener),
    close: async () => {
      const nodes = [...cluster.masters, ...(cluster.pubSubNode === undefined ? [] : [cluster.pubSubNode])];
      for (const { client } of nodes) client?.on("connect", () => client.destroy());
      // To break a connection while it is being made would end the process: the client leaves a promise without a handler. And
      // to wait for one that is silent would take for ever: it is given up by itself, and nobody is told.
      void cluster.close().catch(() => cluster.destroy());
    },
  };
}

/** The nodes that a cluster tells of have the credentials and the encryption of those that it is reached by. */
function credentialsOf(url: string) {
  const { username, password, protocol } = new URL(url);
  return {
    ...(username === "" ? {} : { username: decodeURIComponent(username) }),
    ...(password === "" ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === "rediss:" ? { socket: { tls: true as const } } : {}),
  };
}
