import { readdirSync, readFileSync } from "node:fs";
import pg from "pg";

/**
 * What a PostgreSQL server has done so far, exactly: statements that it was sent, transactions that wrote, bytes of its log, and
 * the CPU time of its processes where it runs on this machine. All are of the whole server, which one part has for itself.
 *
 * @typedef {object} Counts
 * @property {number} commits
 * @property {number} statements
 * @property {number} logBytes
 * @property {number} serverMicros Not a number: the server's processes can't be seen.
 */

const COUNTS = `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS commits,
  (SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements) AS statements,
  (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 AS log_bytes`;
/** The unit of the times in `/proc`, which no Linux has ever changed. */
const TICK_MICROS = 10_000;

/** @param {string} url */
export async function openPostgresCounter(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query("CREATE EXTENSION IF NOT EXISTS pg_stat_statements");
  const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
  const main = statOf(rows[0].pid)?.parent ?? null;
  return {
    /** @returns {Promise<Counts>} */
    async read() {
      const { commits, statements, log_bytes } = (await client.query(COUNTS)).rows[0];
      return { commits, statements, logBytes: log_bytes, serverMicros: main === null ? Number.NaN : cpuMicros(main) };
    },
    close: () => client.end(),
  };
}

/** The CPU time of all processes of a server. @param {number} main */
function cpuMicros(main) {
  const stats = readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map((name) => statOf(Number(name)));
  const own = stats.filter((stat) => stat !== null && (stat.parent === main || stat.pid === main));
  return own.reduce((sum, stat) => sum + (stat?.ticks ?? 0), 0) * TICK_MICROS;
}

/** Null: there is no such process of PostgreSQL on this machine. @param {number} pid */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const end = text.lastIndexOf(")");
    const fields = text.slice(end + 2).split(" ");
    if (!text.slice(0, end).includes("postgres")) return null;
    return { pid, parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) };
  } catch (error) {
    if (["ENOENT", "ESRCH"].includes(error.code)) return null;
    throw error;
  }
}
