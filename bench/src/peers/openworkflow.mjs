import { OpenWorkflow } from "openworkflow";
import { BackendPostgres } from "openworkflow/postgres";
import postgres from "postgres";
import { CONNECTIONS } from "./peer.mjs";

/**
 * openworkflow 0.10 on PostgreSQL. The concurrency of the worker is the number of runs in flight. The pool is larger than the default of
 * ten connections.
 *
 * @type {import("./peer.mjs").OpenPeer}
 */
export async function openPeer(url, { inFlight, flows }) {
  await (await BackendPostgres.connect(url)).stop();
  const pool = postgres(url, { max: CONNECTIONS, transform: { column: { from: postgres.toCamel } } });
  const backend = BackendPostgres.fromPool(pool);
  const client = new OpenWorkflow({ backend });
  const defined = new Map(
    Object.entries(flows).map(([name, flow]) => [
      name,
      client.defineWorkflow({ name }, async ({ input, step }) => {
        const wait = () => step.waitForSignal({ name: "go", signal: input.id });
        return await flow({ step: (at, body) => step.run({ name: at }, body), wait }, input);
      }),
    ]),
  );
  const worker = client.newWorker({ concurrency: inFlight });
  return {
    settings: `openworkflow 0.10.1: worker concurrency ${inFlight}, pool of ${CONNECTIONS}`,
    direct: false,
    work: () => worker.start(),
    start: async (flow, input) => await defined.get(flow).run(input),
    send: (id) => client.sendSignal({ signal: id, data: { ok: true } }),
    async stop() {
      await worker.stop();
      await backend.stop();
    },
  };
}
