/**
 * Settings of the functions. A connection plans a statement of a function once and keeps the plan, so a plan that was made while a table was
 * empty must be right when the table is large.
 */

/**
 * Allows index scans only, and no join that reads a whole table. The server expresses a forbidden scan as a huge cost, and compiles
 * statements of a high cost, which takes longer than any of them: so `jit` is off.
 */
export const INDEX_SCANS_ONLY =
  "SET enable_seqscan = off SET enable_hashjoin = off SET enable_mergejoin = off SET jit = off";

/** The first plan serves all values. */
export const ONE_PLAN = "SET plan_cache_mode = force_generic_plan";

/** Rows are read in the order of an index, and as many as are needed. */
export const INDEX_ORDER_ONLY = `${INDEX_SCANS_ONLY} SET enable_sort = off SET enable_bitmapscan = off`;
