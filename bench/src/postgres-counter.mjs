import { readdirSync } from "node:fs";
import pg from "pg";
import { processStat } from "./process-cpu.mjs";

/**
 * Exact counters of a PostgreSQL server: statements, writing transactions, WAL bytes, and the CPU time of its processes if it runs on
 * this host. They include the whole server, which one part uses alone.
 *
 * @typedef {object} Counts
 * @property {number} commits
 * @property {number} statements
 * @property {number} logBytes
 * @property {number} serverMicros NaN if the server's processes are not visible.
 */

const COUNTS = `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::float8 AS commits,
  (SELECT coalesce(sum(calls), 0)::float8 FROM pg_stat_statements) AS statements,
  (pg_current_wal_insert_lsn() - '0/0'::pg_lsn)::float8 AS log_bytes`;

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
  return own.reduce((sum, stat) => sum + (stat?.cpuMicros ?? 0), 0);
}

/** Null if there is no such process of PostgreSQL on this host. @param {number} pid */
function statOf(pid) {
  const stat = processStat(pid);
  return stat?.command.includes("postgres") ? stat : null;
}
