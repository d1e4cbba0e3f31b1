/** Settings of the workers. */
export const POLL_MS = 100;
/** How long a worker that shuts down waits for its running steps. */
export const DRAIN_MS = 2_000;
/** Kills are frequent, so a run may be claimed many times without progress. */
export const CLAIMS_MAX = 1_000;

/** How long a connection may be without a reply. */
export const SILENCE_MS = 2_000;

export const DATABASE_FILE = "chaos.db";
export const LEDGER_FILE = "ledger.jsonl";
