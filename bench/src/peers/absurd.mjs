import { readFileSync } from "node:fs";
import { Absurd } from "absurd-sdk";
import pg from "pg";
import { ABSURD_SQL } from "./available.mjs";
import { CONNECTIONS } from "./peer.mjs";

/**
 * absurd 0.5 on PostgreSQL. The concurrency and the batch size of the worker are the number of runs in flight. The pool is larger than
 * the driver's default of ten connections.
 *
 * @type {import("./peer.mjs").OpenPeer}
 */
export async function openPeer(url, { inFlight, flows }) {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS });
  await pool.query(readFileSync(ABSURD_SQL, "utf8"));
  const app = new Absurd({ db: pool, queueName: "default", log: SILENT });
  await app.createQueue("default");
  for (const [name, flow] of Object.entries(flows)) {
    app.registerTask({ name }, async (input, ctx) => {
      const wait = () => ctx.awaitEvent(input.id);
      return await flow({ step: (at, body) => ctx.step(at, body), wait }, input);
    });
  }
  return {
    settings: `absurd 0.5.0: worker concurrency and batch size ${inFlight}, pool of ${CONNECTIONS}, polls each 250 ms`,
    direct: false,
    work: async () => void (await app.startWorker({ concurrency: inFlight, fatalOnLeaseTimeout: false })),
    async start(flow, input) {
      const { taskID } = await app.spawn(flow, input);
      return { result: () => app.awaitTaskResult(taskID, { timeout: 120 }) };
    },
    send: (id) => app.emitEvent(id, { ok: true }),
    async stop() {
      await app.close();
      await pool.end();
    },
  };
}

const SILENT = {
  log: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
};
