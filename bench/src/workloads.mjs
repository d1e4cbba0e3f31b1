import { bpmnWorkloads } from "./workloads/bpmn.mjs";
import { memoryWorkloads } from "./workloads/memory.mjs";
import { postgresWorkloads } from "./workloads/postgres.mjs";
import { redisWorkloads } from "./workloads/redis.mjs";
import { sqliteWorkloads } from "./workloads/sqlite.mjs";

/**
 * @import { Pace } from "./workloads/pace.mjs"
 * @import { Workload } from "./workloads/workload.mjs"
 */

const BY_STORE = {
  memory: memoryWorkloads,
  sqlite: sqliteWorkloads,
  postgres: postgresWorkloads,
  redis: redisWorkloads,
  bpmn: bpmnWorkloads,
};

export const STORES = Object.keys(BY_STORE);

/** @param {string} store @param {Pace} pace @returns {readonly Workload[]} */
export function workloads(store, pace) {
  return BY_STORE[store](pace);
}
