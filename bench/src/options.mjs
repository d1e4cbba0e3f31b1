import { parseArgs } from "node:util";
import { STORES, workloads } from "./workloads.mjs";

/**
 * @typedef {object} Options
 * @property {readonly string[]} stores `bpmn` means processes, in memory and on SQLite.
 * @property {string} name The name of the written files.
 * @property {Readonly<Record<string, string | undefined>>} urls Running servers, by store.
 * @property {string} fsync The `appendfsync` of Redis, on both sides.
 * @property {boolean} quick
 * @property {boolean} brief All stores in about two minutes: one round of the main workloads.
 * @property {number} rounds
 * @property {ReadonlySet<string> | null} only Null selects all workloads.
 * @property {string | null} folder The folder of SQLite databases. Null means beside this package.
 * @property {string | null} out The folder of the written files. Null means beside the documentation if all workloads and rounds were measured.
 */

/**
 * An invalid option; the message lists the valid ones. Options are read before anything is built, installed or started, so imports of
 * this file must not need a peer.
 */
export class OptionError extends Error {}

/** The values of `appendfsync`. */
const FSYNCS = ["always", "everysec", "no"];

const KNOWN = /** @type {const} */ ({
  store: { type: "string" },
  url: { type: "string" },
  postgres: { type: "string" },
  redis: { type: "string" },
  fsync: { type: "string", default: "always" },
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
    const [first] = cause.message.split(/\. |\n/);
    throw new OptionError(`${first}; use ${names.join(", ")}`, { cause });
  }
}

/** @param {readonly string[]} args @returns {Options} */
export function readOptions(args) {
  const values = parsed(args);
  const { store, quick, fsync } = values;
  if (store !== undefined && !STORES.includes(store)) {
    throw new OptionError(`--store must be one of ${STORES.join(", ")}; got ${store}; omit it to measure all`);
  }
  const stores = store === undefined ? STORES : [store];
  const brief = quick && store === undefined;
  const rounds = Number(values.rounds ?? (brief ? 1 : quick ? 2 : 3));
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new OptionError(`--rounds must be 1 or more; got ${values.rounds}`);
  if (!FSYNCS.includes(fsync)) throw new OptionError(`--fsync must be one of ${FSYNCS.join(", ")}; got ${fsync}`);
  return {
    stores,
    name: store ?? "benchmarks",
    urls: urlsOf(values, stores),
    fsync,
    quick,
    brief,
    rounds,
    only: onlyOf(values.only, stores, { quick, brief }),
    folder: values.folder ?? null,
    out: values.out ?? null,
  };
}

/** @param {ReturnType<typeof parsed>} values @param {readonly string[]} stores */
function urlsOf(values, stores) {
  const { store, url } = values;
  const servers = /** @type {const} */ (["postgres", "redis"]);
  if (url !== undefined && !servers.some((name) => name === store)) {
    throw new OptionError(`--url needs --store ${servers.join(" or --store ")}; without it use --postgres and --redis`);
  }
  const urls = Object.fromEntries(servers.map((name) => [name, values[name] ?? (name === store ? url : undefined)]));
  for (const [name, given] of Object.entries(urls)) {
    if (given === undefined) continue;
    if (!stores.includes(name)) throw new OptionError(`--${name} cannot be used with --store ${store}`);
    if (!URL.canParse(given)) throw new OptionError(`"${given}" is not a URL`);
  }
  return urls;
}

/** @param {string | undefined} text @param {readonly string[]} stores @param {{ quick: boolean, brief: boolean }} pace */
function onlyOf(text, stores, pace) {
  if (text === undefined) return null;
  const only = new Set(text.split(","));
  const known = new Set(stores.flatMap((store) => workloads(store, pace).map(({ name }) => name)));
  const unknown = [...only].filter((name) => !known.has(name));
  if (unknown.length === 0) return only;
  throw new OptionError(`unknown workload ${unknown.join(", ")}; use ${[...known].join(", ")}`);
}
