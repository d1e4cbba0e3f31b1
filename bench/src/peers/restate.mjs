import * as restate from "@restatedev/restate-sdk";
import { connect } from "@restatedev/restate-sdk-clients";
import { freePort, startRestate } from "./restate-server.mjs";

/**
 * Restate's server with its SDK. It stores everything in its own synced log, not in the database of the others. The handlers are in this
 * process and are called over HTTP/2, as its documentation recommends. It has one partition instead of 24: on two cores this more than
 * doubles its rate, because more steps share a sync. Larger batches and no default retention follow the reference of its configuration.
 *
 * @type {import("./peer.mjs").OpenPeer}
 */
export async function openPeer(_url, { flows }) {
  const server = await startRestate({
    DEFAULT_NUM_PARTITIONS: "1",
    WORKER__MAX_COMMAND_BATCH_SIZE: String(BATCH),
    DEFAULT_JOURNAL_RETENTION: "0s",
  });
  /** @type {Map<string, string>} */
  const waiting = new Map();
  const handlers = Object.fromEntries(
    Object.entries(flows).map(([name, flow]) => [
      name,
      async (ctx, input) => {
        const wait = () => {
          const { id, promise } = ctx.awakeable();
          waiting.set(input.id, id);
          return promise;
        };
        return await flow({ step: (at, body) => ctx.run(at, body), wait }, input);
      },
    ]),
  );
  const bench = restate.service({ name: "bench", handlers });
  const port = await freePort();
  await restate
    .endpoint()
    .setLogger(({ level }, ...said) => (level === "error" ? console.error(...said) : undefined))
    .bind(bench)
    .listen(port);
  await register(server.admin, `http://127.0.0.1:${port}`);
  const client = connect({ url: server.ingress });
  const calls = client.serviceClient(bench);
  return {
    settings: `Restate 1.7.12, SDK 1.17.2: a service over HTTP/2, started directly; one partition, batches of up to ${BATCH}, no journals of completed runs, log synced`,
    direct: true,
    work: async () => undefined,
    start: async (flow, input) => {
      const answer = calls[flow](input);
      return { result: () => answer };
    },
    send: (id) => client.resolveAwakeable(waiting.get(id) ?? "", { ok: true }),
    count: async () => ({ serverMicros: server.cpuMicros() }),
    bytes: async () => server.bytes(),
    stop: async () => server.stop(),
  };
}

/** The maximum number of records per batch. Restate's default is 32. */
const BATCH = 512;

/** Registers the address of the handlers with the server. @param {string} admin @param {string} uri */
async function register(admin, uri) {
  const answer = await fetch(`${admin}/deployments`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ uri }),
  });
  if (!answer.ok) throw new Error(`Restate rejected the handlers: ${answer.status} ${await answer.text()}`);
}
