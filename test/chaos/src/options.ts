import { parseArgs } from "node:util";

export interface Options {
  readonly kills: number;
  readonly seed: number;
  readonly workers: number;
  /** The lease of the workers. On a busy host a short lease expires before the next heartbeat. */
  readonly leaseMs: number;
  /** The address of a database server. Null if the database is a file in the folder. */
  readonly address: string | null;
  /** The address that the processes under test use. */
  readonly through: string | null;
  /** Keeps the folder with the database and the ledger, also after success. */
  readonly keep: boolean;
}

export type Parsed =
  | { readonly kind: "options"; readonly options: Options }
  | { readonly kind: "refused"; readonly reason: string };

const SEED_MAX = 2 ** 31;

/** Parses the command line. `randomSeed` is the default seed. */
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
      return refused(`--store must be sqlite, postgres or redis; got ${store}`);
    }
    if (store !== "sqlite" && !address?.startsWith(`${store}://`))
      return refused(`--store ${store} needs an --address`);
    const kills = integerBetween(values.kills, 1, 100_000);
    const seed = integerBetween(values.seed, 0, SEED_MAX);
    const workers = integerBetween(values.workers, 2, 16);
    if (kills === null) return refused(`--kills must be an integer from 1 to 100000; got ${values.kills}`);
    if (seed === null) return refused(`--seed must be an integer from 0 to ${SEED_MAX}; got ${values.seed}`);
    if (workers === null) return refused(`--workers must be an integer from 2 to 16; got ${values.workers}`);
    const leaseMs = integerBetween(values.lease, 300, 60_000);
    if (leaseMs === null) return refused(`--lease must be an integer of ms from 300 to 60000; got ${values.lease}`);
    const { through = address ?? null, keep } = values;
    return { kind: "options", options: { kills, seed, workers, leaseMs, address: address ?? null, through, keep } };
  } catch (error) {
    return refused(error instanceof Error ? error.message : String(error));
  }
}

function integerBetween(text: string, least: number, most: number): number | null {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  return value >= least && value <= most ? value : null;
}

function refused(reason: string): Parsed {
  return { kind: "refused", reason };
}
