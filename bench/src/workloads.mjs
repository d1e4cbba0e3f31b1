import { bpmnWorkloads } from "./workloads/bpmn.mjs";
import { postgresWorkloads } from "./workloads/postgres.mjs";
import { redisWorkloads } from "./workloads/redis.mjs";
import { sqliteWorkloads } from "./workloads/sqlite.mjs";

/**
 * @import { Workload } from "./workloads/workload.mjs"
 */

const BY_STORE = { sqlite: sqliteWorkloads, postgres: postgresWorkloads, redis: redisWorkloads, bpmn: bpmnWorkloads };

export const STORES = Object.keys(BY_STORE);

/** @param {string} store @param {{ quick: boolean }} options @returns {readonly Workload[]} */
export function workloads(store, options) {
  return BY_STORE[store](options);
}
