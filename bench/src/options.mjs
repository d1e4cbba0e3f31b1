import { parseArgs } from "node:util";
import { STORES, workloads } from "./workloads.mjs";

/**
 * @typedef {object} Options
 * @property {"sqlite" | "postgres" | "redis" | "bpmn"} store `bpmn`: processes, in memory and on SQLite.
 * @property {string | null} url Of the server, where the store has one.
 * @property {boolean} quick
 * @property {number} rounds
 * @property {ReadonlySet<string> | null} only Null: all workloads.
 * @property {string | null} folder Where SQLite's databases are; null: beside this package.
 */

/** @param {readonly string[]} args @returns {Options} */
export function readOptions(args) {
  const { values } = parseArgs({
    args: [...args],
    options: {
      store: { type: "string", default: "sqlite" },
      url: { type: "string" },
      quick: { type: "boolean", default: false },
      only: { type: "string" },
      rounds: { type: "string" },
      folder: { type: "string" },
    },
  });
  const { store, quick } = values;
  if (!STORES.includes(store)) throw new Error(`--store is ${store}; it can be ${STORES.join(", ")}`);
  const rounds = Number(values.rounds ?? (quick ? 2 : 3));
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error(`--rounds is ${values.rounds}; it has to be 1 or more`);
  const only = values.only === undefined ? null : new Set(values.only.split(","));
  const known = workloads(store, { quick }).map(({ name }) => name);
  const unknown = [...(only ?? [])].filter((name) => !known.includes(name));
  if (unknown.length > 0) throw new Error(`there is no workload ${unknown.join(", ")}; there are ${known.join(", ")}`);
  return { store, url: values.url ?? null, quick, rounds, only, folder: values.folder ?? null };
}
