import type { Run } from "../model/run.ts";
import type { Log } from "../runtime/log.ts";
import type { Store } from "../store/store.ts";

const TEXT = "a run does not listen for a message that it has got; check the name of the message, or listen for it";

/** A run may do other things first. Until then no line is logged. */
const UNREAD_MS_MIN = 60 * 60_000;
/** Suspended runs that one tick reads. The next tick continues after them. */
const PAGE_MAX = 50;
/** Names of messages that are remembered as logged. */
const LOGGED_MAX = 1_000;

export interface UnreadMessagesParts {
  readonly store: Pick<Store, "now" | "reader">;
  readonly log: Log;
  readonly worker: string;
  readonly stopped: () => boolean;
}

/**
 * Logs messages that have been in the inbox of a suspended run for an hour while the run waits for other things. Mostly their name is
 * misspelt.
 *
 * 1. A name of a message is logged once for each workflow, with one of its runs.
 * 2. Only the live worker with the lowest id logs.
 */
export class UnreadMessages {
  readonly #parts: UnreadMessagesParts;
  #cursor: string | null = null;
  readonly #logged = new Set<string>();

  constructor(parts: UnreadMessagesParts) {
    this.#parts = parts;
  }

  async tick(): Promise<void> {
    const { store, worker, stopped } = this.#parts;
    const { reader } = store;
    const now = store.now();
    const workers = await reader.workers();
    if (stopped() || workers.some(({ id, expiresAt }) => expiresAt > now && id < worker)) return;
    const cursor = this.#cursor === null ? {} : { cursor: this.#cursor };
    const page = await reader.list({ status: ["suspended"], limit: PAGE_MAX, ...cursor });
    this.#cursor = page.cursor;
    for (const run of page.items) {
      if (stopped()) return;
      if (run.inboxLast > 0) await this.#check(run, now);
    }
  }

  async #check(run: Run, now: number): Promise<void> {
    const awaited = run.wait?.messages ?? [];
    for (const { kind, name, at } of await this.#parts.store.reader.inbox(run.id))
      if (kind === "message" && at <= now - UNREAD_MS_MIN && !awaited.includes(name)) this.#report(run, { name, at });
  }

  #report({ id, workflow, wait }: Run, { name, at }: { readonly name: string; readonly at: number }): void {
    const key = `${workflow.length} ${workflow} ${name}`;
    if (this.#logged.has(key) || this.#logged.size >= LOGGED_MAX) return;
    this.#logged.add(key);
    this.#parts.log("warn", TEXT, { run: id, workflow, message: name, at, listensFor: wait?.messages ?? [] });
  }
}
