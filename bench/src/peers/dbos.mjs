import { DBOS } from "@dbos-inc/dbos-sdk";
import { CONNECTIONS } from "./peer.mjs";

/**
 * DBOS 5.3 on PostgreSQL. Workflows are started directly, because queues are polled. The pool is larger than the default of ten
 * connections, notifications are on, and tracing is off.
 *
 * @type {import("./peer.mjs").OpenPeer}
 */
export async function openPeer(url, { flows }) {
  const defined = new Map(
    Object.entries(flows).map(([name, flow]) => [
      name,
      DBOS.registerWorkflow(
        async (input) => {
          const wait = () => DBOS.recv("go", { timeoutSeconds: 120 });
          return await flow({ step: (at, body) => DBOS.runStep(body, { name: at }), wait }, input);
        },
        { name },
      ),
    ]),
  );
  DBOS.setConfig({
    name: "bench",
    systemDatabaseUrl: url,
    systemDatabasePoolSize: CONNECTIONS,
    useListenNotify: true,
    enableOTLP: false,
    logLevel: "error",
  });
  await DBOS.launch();
  return {
    settings: `DBOS 5.3.0: workflows started directly, pool of ${CONNECTIONS}, LISTEN/NOTIFY on, tracing off`,
    direct: true,
    work: async () => undefined,
    async start(flow, input) {
      const handle = await DBOS.startWorkflow(defined.get(flow), { workflowID: input.id })(input);
      return { result: () => handle.getResult() };
    },
    send: (id) => DBOS.send(id, { ok: true }, "go"),
    stop: () => DBOS.shutdown(),
  };
}
