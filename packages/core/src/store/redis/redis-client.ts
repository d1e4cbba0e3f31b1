import { PawlError } from "../../model/errors.ts";
import type { RedisClient } from "./connection.ts";

type Driver = typeof import("@redis/client");

export interface ClientOptions {
  /** A connection that receives nothing for this long is closed and opened again. */
  readonly silenceMs: number;
}

/** The delay before the first retry of a connection. Each further retry doubles it, up to RECONNECT_MS_MAX. */
const RECONNECT_MS = 20;
const RECONNECT_MS_MAX = 1_000;
/** Retries of the first connection. A client that was connected once retries without end. */
const FIRST_RETRIES_MAX = 3;

/** Creates a client of one server. A list names nodes of one cluster. */
export async function redisClient(source: string | readonly string[], options: ClientOptions): Promise<RedisClient> {
  const driver = await loadDriver();
  return typeof source === "string" ? serverClient(driver, source, options) : clusterClient(driver, source, options);
}

async function loadDriver(): Promise<Driver> {
  try {
    return await import("@redis/client");
  } catch (cause) {
    throw new PawlError("STORE_UNSUPPORTED", "cannot load the package @redis/client; run npm install @redis/client", {
      cause,
    });
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
        reconnectStrategy: (retries: number, cause: Error) =>
          connected || retries < FIRST_RETRIES_MAX ? Math.min(RECONNECT_MS * 2 ** retries, RECONNECT_MS_MAX) : cause,
      },
    },
    onConnected: () => {
      connected = true;
    },
  };
}

/**
 * Hints have a connection of their own: a server closes a connection that is subscribed when a reply exceeds the limit of its
 * pub/sub buffers, which is 32 MB by default. Replies with a long journal are larger.
 */
function serverClient({ createClient }: Driver, url: string, options: ClientOptions): RedisClient {
  const { settings, onConnected } = clientOptions(options);
  let closed = false;
  const create = () => {
    const client = createClient({ url, ...settings });
    // Failed commands report a lost connection. Without a listener, Node exits on an `error` event.
    client.on("error", () => undefined);
    // `destroy` does not stop a connection attempt in progress, so a closed client destroys the connection once it exists.
    client.on("connect", () => closed && client.destroy());
    return client;
  };
  const commands = create();
  const hints = create();
  commands.on("ready", onConnected);
  return {
    connect: () => Promise.all([commands.connect(), hints.connect()]),
    send: (_key, args) => commands.sendCommand(args),
    subscribe: (channel, listener) => hints.subscribe(channel, listener),
    onReady: (listener) => void hints.on("ready", listener),
    close: async () => {
      closed = true;
      for (const client of [commands, hints]) if (client.isOpen) client.destroy();
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
      // Destroying a connection attempt in progress leaves an unhandled rejection in the client, which ends the process. Waiting for
      // a server that does not answer takes forever. So `close` is not awaited; the socket timeout ends silent connections.
      void cluster.close().catch(() => cluster.destroy());
    },
  };
}

/** Nodes that the cluster itself announces get the credentials and the encryption of the first address. */
function credentialsOf(url: string) {
  const { username, password, protocol } = new URL(url);
  return {
    ...(username === "" ? {} : { username: decodeURIComponent(username) }),
    ...(password === "" ? {} : { password: decodeURIComponent(password) }),
    ...(protocol === "rediss:" ? { socket: { tls: true as const } } : {}),
  };
}
