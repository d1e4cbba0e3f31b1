import { parseArgs } from "node:util";

export interface Options {
  readonly kills: number;
  readonly seed: number;
  readonly workers: number;
  /** How long a worker that says nothing is taken for alive. On a busy machine a short one is over before a beat has its turn. */
  readonly leaseMs: number;
  /** Of a database server; null: a file in the folder. */
  readonly address: string | null;
  /** Where the processes under test reach it. */
  readonly through: string | null;
  /** Leaves the folder with the database and the ledger behind, whatever the result. */
  readonly keep: boolean;
}

export type Parsed =
  | { readonly kind: "options"; readonly options: Options }
  | { readonly kind: "refused"; readonly reason: string };

const SEED_MAX = 2 ** 31;

/** What the command line asks for; `randomSeed` is taken when it names none. */
export function parseOptions(args: readonly string[], randomSeed: number): Parsed {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        store: { type: "string", default: "sqlite" },
        kills: { type: "string", default: "200" },
        seed: { type: "string", default: String(randomSeed) },
        address: { type: "string" },
        through: { type: "string" },
        workers: { type: "string", default: "4" },
        lease: { type: "string", default: "1000" },
        keep: { type: "boolean", default: false },
      },
    });
    const { store, address } = values;
    if (store !== "sqlite" && store !== "redis" && store !== "postgres") {
      return refused(`--store is ${store}; it can be sqlite, postgres or redis`);
    }
    if (store !== "sqlite" && !address?.startsWith(`${store}://`))
      return refused(`--store ${store} needs an --address`);
    const kills = whole(values.kills, 1, 100_000);
    const seed = whole(values.seed, 0, SEED_MAX);
    const workers = whole(values.workers, 2, 16);
    if (kills === null) return refused(`--kills is ${values.kills}; it has to be a whole number from 1 to 100000`);
    if (seed === null) return refused(`--seed is ${values.seed}; it has to be a whole number from 0 to ${SEED_MAX}`);
    if (workers === null) return refused(`--workers is ${values.workers}; it has to be a whole number from 2 to 16`);
    const leaseMs = whole(values.lease, 300, 60_000);
    if (leaseMs === null)
      return refused(`--lease is ${values.lease}; it has to be a whole number of ms from 300 to 60000`);
    const { through = address ?? null, keep } = values;
    return { kind: "options", options: { kills, seed, workers, leaseMs, address: address ?? null, through, keep } };
  } catch (error) {
    return refused(error instanceof Error ? error.message : String(error));
  }
}

function whole(text: string, least: number, most: number): number | null {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : null;
}

function refused(reason: string): Parsed {
  return { kind: "refused", reason };
}
