import { createEngine, type Engine, type RecordView, type RunSummary, type Store } from "pawl";
import { type Inspected, inspectedAt } from "../database.ts";
import { digestOf } from "../digest.ts";
import type { PostValue } from "../load/run-output.ts";
import type { Evidence, LetterDump, RecordDump, RunDump } from "./evidence.ts";

export type Dump = Pick<Evidence, "runs" | "letters" | "transactionRows" | "integrity">;

const PAGE = 500;

/** Reads a database through the public API. */
export class Inspector {
  readonly #inspected: Inspected;
  readonly #store: Store;
  readonly #engine: Engine;

  private constructor(inspected: Inspected, engine: Engine) {
    this.#inspected = inspected;
    this.#store = inspected.store;
    this.#engine = engine;
  }

  static async open(address: string): Promise<Inspector> {
    const inspected = inspectedAt(address);
    return new Inspector(inspected, await createEngine({ store: inspected.store }));
  }

  /** Runs that have not ended. */
  async openRuns(): Promise<number> {
    const { reader } = this.#store;
    return await reader.count({ status: ["pending", "running", "suspended", "paused", "compensating"] });
  }

  async dump(): Promise<Dump> {
    const runs: RunDump[] = [];
    for (const run of await this.#runs()) runs.push(await this.#run(run));
    return {
      runs,
      letters: await this.#letters(),
      transactionRows: await this.#inspected.transactionRows(),
      integrity: this.#inspected.integrity(),
    };
  }

  async close(): Promise<void> {
    await this.#engine.shutdown();
    this.#inspected.close();
  }

  async #runs(): Promise<readonly RunSummary[]> {
    const all: RunSummary[] = [];
    let cursor: string | null = null;
    do {
      const page = await this.#engine.list({ limit: PAGE, ...(cursor === null ? {} : { cursor }) });
      all.push(...page.items);
      cursor = page.cursor;
    } while (cursor !== null);
    return all;
  }

  async #run(run: RunSummary): Promise<RunDump> {
    const { id, workflow, status, parent, generation, baseSeq, input, output, error } = run;
    const views = await this.#engine.run(id).journal();
    const raw = await this.#store.reader.journal(id, { afterSeq: baseSeq, limit: views.length + 1 });
    const digests = new Map(raw.map((record) => [record.seq, digestOf(record)]));
    const records = views.map((view) => recordDump(view, digests.get(view.seq) ?? ""));
    return {
      id,
      workflow,
      status,
      parent: parent === null ? null : { runId: parent.runId, location: parent.location },
      generation,
      baseSeq,
      input,
      output,
      error: error?.message ?? null,
      records,
    };
  }

  async #letters(): Promise<readonly LetterDump[]> {
    const all: LetterDump[] = [];
    let cursor: string | null = null;
    do {
      const page = await this.#engine.deadLetters.list({ limit: PAGE, ...(cursor === null ? {} : { cursor }) });
      for (const { kind, target, value } of page.items) all.push({ kind, target, id: (value as PostValue).id });
      cursor = page.cursor;
    } while (cursor !== null);
    return all;
  }
}

function recordDump(view: RecordView, digest: string): RecordDump {
  const { seq, location, kind, outcome, attempts, startedAt, at, detail, value, error } = view;
  return {
    seq,
    location,
    kind,
    outcome,
    attempts,
    startedAt,
    at,
    detail,
    value,
    error: error?.message ?? null,
    digest,
  };
}
