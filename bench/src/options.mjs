import { parseArgs } from "node:util";
import { STORES, workloads } from "./workloads.mjs";

/**
 * @typedef {object} Options
 * @property {readonly string[]} stores `bpmn`: processes, in memory and on SQLite.
 * @property {string} name Of the files that are written.
 * @property {Readonly<Record<string, string | undefined>>} urls Of the servers, by store.
 * @property {boolean} quick
 * @property {boolean} brief All stores in about two minutes: one round of what says most.
 * @property {number} rounds
 * @property {ReadonlySet<string> | null} only Null: all workloads.
 * @property {string | null} folder Where SQLite's databases are; null: beside this package.
 * @property {string | null} out Where the files go; null: beside the documentation if the run is a whole one.
 */

/** Something was asked that there is not; the message says what there is. */
export class OptionError extends Error {}

const KNOWN = /** @type {const} */ ({
  store: { type: "string" },
  url: { type: "string" },
  postgres: { type: "string" },
  redis: { type: "string" },
  quick: { type: "boolean", default: false },
  only: { type: "string" },
  rounds: { type: "string" },
  folder: { type: "string" },
  out: { type: "string" },
});

/** @param {readonly string[]} args */
function parsed(args) {
  try {
    return parseArgs({ args: [...args], options: KNOWN }).values;
  } catch (cause) {
    const names = Object.keys(KNOWN).map((name) => `--${name}`);
    throw new OptionError(`${cause.message}; there are ${names.join(", ")}`, { cause });
  }
}

/** @param {readonly string[]} args @returns {Options} */
export function readOptions(args) {
  const values = parsed(args);
  const { store, quick } = values;
  if (store !== undefined && !STORES.includes(store)) {
    throw new OptionError(`--store is ${store}; it can be ${STORES.join(", ")}, and without it all are measured`);
  }
  const stores = store === undefined ? STORES : [store];
  const brief = quick && store === undefined;
  const rounds = Number(values.rounds ?? (brief ? 1 : quick ? 2 : 3));
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new OptionError(`--rounds is ${values.rounds}; it has to be 1 or more`);
  return {
    stores,
    name: store ?? "benchmarks",
    urls: {
      postgres: values.postgres ?? (store === "postgres" ? values.url : undefined),
      redis: values.redis ?? (store === "redis" ? values.url : undefined),
    },
    quick,
    brief,
    rounds,
    only: onlyOf(values.only, stores, { quick, brief }),
    folder: values.folder ?? null,
    out: values.out ?? null,
  };
}

/** @param {string | undefined} text @param {readonly string[]} stores @param {{ quick: boolean, brief: boolean }} pace */
function onlyOf(text, stores, pace) {
  if (text === undefined) return null;
  const only = new Set(text.split(","));
  const known = new Set(stores.flatMap((store) => workloads(store, pace).map(({ name }) => name)));
  const unknown = [...only].filter((name) => !known.has(name));
  if (unknown.length === 0) return only;
  throw new OptionError(`there is no workload ${unknown.join(", ")}; there are ${[...known].join(", ")}`);
}
