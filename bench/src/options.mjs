import { parseArgs } from "node:util";

/**
 * @typedef {object} Options
 * @property {boolean} quick
 * @property {number} rounds
 * @property {ReadonlySet<string> | null} only Null: all workloads.
 * @property {string | null} folder Where the databases are; null: beside this package.
 */

const STORES = ["sqlite"];

/** @param {readonly string[]} args @param {readonly string[]} workloads @returns {Options} */
export function readOptions(args, workloads) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: "string", default: "sqlite" },
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      rounds: { type: "string" },
      folder: { type: "string" },
    },
  });
  if (!STORES.includes(values.store)) throw new Error(`--store is ${values.store}; it can be ${STORES.join(", ")}`);
  const rounds = Number(values.rounds ?? (values.quick ? 2 : 3));
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds is ${values.rounds}; it has to be 1 or more`);
  const only = values.only === undefined ? null : new Set(values.only.split(","));
  const unknown = [...(only ?? [])].filter((name) => !workloads.includes(name));
  if (unknown.length > 0)
    throw new Error(`there is no workload ${unknown.join(", ")}; there are ${workloads.join(", ")}`);
  return { quick: values.quick, rounds, only, folder: values.folder ?? null };
}
