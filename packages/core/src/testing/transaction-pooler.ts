import { connect, createServer, type Server, type Socket } from "node:net";

/**
 * A pooler in transaction mode, as stands before many a PostgreSQL: whoever speaks gets a connection to the server until its
 * transaction is over, and another one the next time. What a session would keep (prepared statements, settings, subscriptions) is
 * thrown away in between, so that whoever relies on it fails here.
 */
export interface TransactionPooler {
  readonly url: string;
  /** How many transactions each connection to the server has had. */
  transactions(): readonly number[];
  close(): Promise<void>;
}

const STARTUP_PROTOCOL = 196_608;
const SSL_REQUEST = 80_877_103;
const BACKENDS = 4;

/** One message: its kind, and all of it as it came. */
interface Message {
  readonly kind: string;
  readonly bytes: Buffer;
}

/** Cuts a stream of bytes into messages. */
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

/** A connection to the server. What it says goes to `hear`. */
class Backend {
  transactions = 0;
  hear: (message: Message) => void = () => undefined;
  readonly greeting: Buffer[] = [];
  readonly #socket: Socket;

  constructor(socket: Socket) {
    this.#socket = socket;
    const messages = new Messages();
    socket.on("data", (bytes) => {
      for (const each of messages.add(bytes)) this.hear(each);
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
      backend.hear = ({ kind, bytes }) => {
        const asks = kind === "R" ? bytes.readInt32BE(5) : 0;
        if (asks === 3) socket.write(textMessage("p", decodeURIComponent(url.password)));
        else if (asks !== 0) reject(new Error(`the pooler knows no way ${asks} to say who it is`));
        else if (kind === "E") reject(new Error(bytes.toString()));
        else if (kind === "S") backend.greeting.push(bytes);
        else if (kind === "Z") resolve();
      };
    });
    return backend;
  }

  say(bytes: Buffer): void {
    this.#socket.write(bytes);
  }

  async forget(): Promise<void> {
    this.say(textMessage("Q", "DISCARD ALL"));
    await new Promise<void>((resolve) => {
      this.hear = ({ kind }) => {
        if (kind === "Z") resolve();
      };
    });
  }

  close(): void {
    this.#socket.destroy();
  }
}

/** The connections to the server: the one that has rested longest is given first. */
class Backends {
  readonly all: readonly Backend[];
  readonly #free: Backend[];
  readonly #waiting: ((backend: Backend) => void)[] = [];

  constructor(all: readonly Backend[]) {
    this.all = all;
    this.#free = [...all];
  }

  async take(): Promise<Backend> {
    const backend = this.#free.shift() ?? (await new Promise<Backend>((resolve) => this.#waiting.push(resolve)));
    backend.transactions += 1;
    return backend;
  }

  async giveBack(backend: Backend): Promise<void> {
    await backend.forget();
    const next = this.#waiting.shift();
    if (next === undefined) this.#free.push(backend);
    else next(backend);
  }
}

/** One who speaks to the pooler. What comes while there is no connection for it waits. */
class Caller {
  readonly #socket: Socket;
  readonly #backends: Backends;
  readonly #messages = new Messages();
  #backend: Backend | null = null;
  #unsent: Buffer[] = [];
  #isTaking = false;
  /** Answers of kind Z that are still to come. */
  #open = 0;

  constructor(socket: Socket, backends: Backends) {
    this.#socket = socket;
    this.#backends = backends;
    socket.once("data", (bytes) => this.#greet(bytes));
    socket.on("error", () => socket.destroy());
    socket.on("close", () => this.#left());
  }

  #greet(bytes: Buffer): void {
    if (bytes.readInt32BE(4) === SSL_REQUEST) {
      this.#socket.write("N");
      this.#socket.once("data", (next) => this.#greet(next));
      return;
    }
    const ok = message("R", Buffer.alloc(4));
    this.#socket.write(Buffer.concat([ok, ...(this.#backends.all[0]?.greeting ?? []), message("Z", Buffer.from("I"))]));
    this.#socket.on("data", (next) => {
      for (const { kind, bytes: all } of this.#messages.add(next)) if (kind !== "X") this.#forward(kind, all);
    });
  }

  #forward(kind: string, bytes: Buffer): void {
    if (kind === "Q" || kind === "S") this.#open += 1;
    if (this.#backend !== null) this.#backend.say(bytes);
    else {
      this.#unsent.push(bytes);
      void this.#take();
    }
  }

  async #take(): Promise<void> {
    if (this.#isTaking) return;
    this.#isTaking = true;
    const backend = await this.#backends.take();
    this.#isTaking = false;
    this.#backend = backend;
    backend.hear = (each) => this.#heard(backend, each);
    for (const bytes of this.#unsent.splice(0)) backend.say(bytes);
  }

  #heard(backend: Backend, { kind, bytes }: Message): void {
    this.#socket.write(bytes);
    if (kind !== "Z") return;
    this.#open -= 1;
    if (this.#open > 0 || String.fromCharCode(bytes[5] ?? 0) !== "I") return;
    this.#backend = null;
    void this.#backends.giveBack(backend);
  }

  /** Whoever hangs up in the middle of a transaction leaves it to be rolled back. */
  #left(): void {
    const backend = this.#backend;
    if (backend === null) return;
    this.#backend = null;
    backend.hear = () => undefined;
    backend.say(textMessage("Q", "ROLLBACK"));
    void this.#backends.giveBack(backend);
  }
}

export async function transactionPooler(serverUrl: string): Promise<TransactionPooler> {
  const target = new URL(serverUrl);
  const all = await Promise.all(Array.from({ length: BACKENDS }, () => Backend.open(target)));
  const backends = new Backends(all);
  const server: Server = createServer({ noDelay: true }, (socket) => new Caller(socket, backends));
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
