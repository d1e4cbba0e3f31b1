/** How the workers are set up. */
export const POLL_MS = 100;
/** How long a worker that is asked to end may let its work end. */
export const DRAIN_MS = 2_000;
/** Kills come often, so a run may be claimed many times without having a chance to make progress. */
export const CLAIMS_MAX = 1_000;

/** How long a server that says nothing is waited for. */
export const SILENCE_MS = 2_000;

export const DATABASE_FILE = "chaos.db";
export const LEDGER_FILE = "ledger.jsonl";
