import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * A connection pooler in transaction mode, like PgBouncer. A client gets a server connection for one transaction, and another one for the
 * next. The pooler resets session state (prepared statements, settings, LISTEN) in between, so that a client that relies on it fails.
 */
export interface TransactionPooler {
  readonly url: string;
  /** The number of transactions of each server connection. */
  transactions(): readonly number[];
  close(): Promise<void>;
}

const STARTUP_PROTOCOL = 196_608;
const SSL_REQUEST = 80_877_103;
const BACKENDS = 4;

/** A protocol message: its kind and all its bytes. */
interface Message {
  readonly kind: string;
  readonly bytes: Buffer;
}

/** Splits a stream of bytes into messages. */
class Messages {
  #rest = Buffer.alloc(0);

  add(bytes: Buffer): readonly Message[] {
    this.#rest = Buffer.concat([this.#rest, bytes]);
    const found: Message[] = [];
    while (this.#rest.length >= 5) {
      const length = this.#rest.readInt32BE(1) + 1;
      if (this.#rest.length < length) break;
      found.push({ kind: String.fromCharCode(this.#rest[0] ?? 0), bytes: this.#rest.subarray(0, length) });
      this.#rest = this.#rest.subarray(length);
    }
    return found;
  }
}

function message(kind: string, body: Buffer): Buffer {
  const head = Buffer.alloc(5);
  head.write(kind);
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

function textMessage(kind: string, text: string): Buffer {
  return message(kind, Buffer.from(`${text}\0`));
}

/** A connection to the server. Its messages go to `onMessage`. */
class Backend {
  transactions = 0;
  onMessage: (message: Message) => void = () => undefined;
  readonly startupMessages: Buffer[] = [];
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    const messages = new Messages();
    socket.on("data", (bytes) => {
      for (const each of messages.add(bytes)) this.onMessage(each);
    });
    socket.on("error", () => socket.destroy());
  }

  static async open(url: URL): Promise<Backend> {
    const socket = connect({ port: Number(url.port), host: url.hostname, noDelay: true });
    const backend = new Backend(socket);
    const names = `user\0${url.username}\0database\0${url.pathname.slice(1)}\0\0`;
    const startup = Buffer.alloc(8 + names.length);
    startup.writeInt32BE(startup.length);
    startup.writeInt32BE(STARTUP_PROTOCOL, 4);
    startup.write(names, 8);
    socket.write(startup);
    await new Promise<void>((resolve, reject) => {
      socket.once("error", reject);
      backend.onMessage = ({ kind, bytes }) => {
        const authentication = kind === "R" ? bytes.readInt32BE(5) : 0;
        if (authentication === 3) socket.write(textMessage("p", decodeURIComponent(url.password)));
        else if (authentication !== 0) reject(new Error(`authentication method ${authentication} is not supported`));
        else if (kind === "E") reject(new Error(bytes.toString()));
        else if (kind === "S") backend.startupMessages.push(bytes);
        else if (kind === "Z") resolve();
      };
    });
    return backend;
  }

  send(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  async resetSession(): Promise<void> {
    this.send(textMessage("Q", "DISCARD ALL"));
    await new Promise<void>((resolve) => {
      this.onMessage = ({ kind }) => {
        if (kind === "Z") resolve();
      };
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** The server connections. `acquire` returns the one that has been idle longest. */
class Backends {
  readonly all: readonly Backend[];
  readonly #free: Backend[];
  readonly #waiting: ((backend: Backend) => void)[] = [];

  constructor(all: readonly Backend[]) {
    this.all = all;
    this.#free = [...all];
  }

  async acquire(): Promise<Backend> {
    const backend = this.#free.shift() ?? (await new Promise<Backend>((resolve) => this.#waiting.push(resolve)));
    backend.transactions += 1;
    return backend;
  }

  async release(backend: Backend): Promise<void> {
    await backend.resetSession();
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(backend);
    else next(backend);
  }
}

/** A client of the pooler. Its messages are queued while it has no server connection. */
class PoolerClient {
  readonly #socket: Socket;
  readonly #backends: Backends;
  readonly #messages = new Messages();
  #backend: Backend | null = null;
  #unsent: Buffer[] = [];
  #isAcquiring = false;
  /** The number of expected ReadyForQuery messages (kind Z). */
  #open = 0;

  constructor(socket: Socket, backends: Backends) {
    this.#socket = socket;
    this.#backends = backends;
    socket.once("data", (bytes) => this.#startSession(bytes));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#disconnected());
  }

  #startSession(bytes: Buffer): void {
    if (bytes.readInt32BE(4) === SSL_REQUEST) {
      this.#socket.write("N");
      this.#socket.once("data", (next) => this.#startSession(next));
      return;
    }
    const ok = message("R", Buffer.alloc(4));
    this.#socket.write(
      Buffer.concat([ok, ...(this.#backends.all[0]?.startupMessages ?? []), message("Z", Buffer.from("I"))]),
    );
    this.#socket.on("data", (next) => {
      for (const { kind, bytes: all } of this.#messages.add(next)) if (kind !== "X") this.#forward(kind, all);
    });
  }

  #forward(kind: string, bytes: Buffer): void {
    if (kind === "Q" || kind === "S") this.#open += 1;
    if (this.#backend !== null) this.#backend.send(bytes);
    else {
      this.#unsent.push(bytes);
      void this.#acquire();
    }
  }

  async #acquire(): Promise<void> {
    if (this.#isAcquiring) return;
    this.#isAcquiring = true;
    const backend = await this.#backends.acquire();
    this.#isAcquiring = false;
    this.#backend = backend;
    backend.onMessage = (each) => this.#forwardReply(backend, each);
    for (const bytes of this.#unsent.splice(0)) backend.send(bytes);
  }

  #forwardReply(backend: Backend, { kind, bytes }: Message): void {
    this.#socket.write(bytes);
    if (kind !== "Z") return;
    this.#open -= 1;
    if (this.#open > 0 || String.fromCharCode(bytes[5] ?? 0) !== "I") return;
    this.#backend = null;
    void this.#backends.release(backend);
  }

  /** Rolls back the transaction of a client that disconnected inside it. */
  #disconnected(): void {
    const backend = this.#backend;
    if (backend === null) return;
    this.#backend = null;
    backend.onMessage = () => undefined;
    backend.send(textMessage("Q", "ROLLBACK"));
    void this.#backends.release(backend);
  }
}

export async function transactionPooler(serverUrl: string): Promise<TransactionPooler> {
  const target = new URL(serverUrl);
  const all = await Promise.all(Array.from({ length: BACKENDS }, () => Backend.open(target)));
  const backends = new Backends(all);
  const server: Server = createServer({ noDelay: true }, (socket) => new PoolerClient(socket, backends));
  const sockets = new Set<Socket>();
  server.on("connection", (socket) => {
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return {
    url: `postgres://${target.username}@127.0.0.1:${port}${target.pathname}`,
    transactions: () => all.map(({ transactions }) => transactions),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
      for (const backend of all) backend.close();
    },
  };
}
