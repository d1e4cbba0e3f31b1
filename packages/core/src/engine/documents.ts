import type { Op, OutcomeOf } from "../model/op.ts";
import type { MessagePost, StoredDocument } from "../model/transition.ts";
import type { ControlParts } from "../operator/controls.ts";
import type { DocumentQuery, Page } from "../store/store.ts";
import { sendOp } from "./op-builders.ts";

/** A document with its value decoded. */
export interface DocumentView<Value = unknown> extends Omit<StoredDocument, "body"> {
  readonly value: Value;
  /** As the store has it: what a revision is compared with. */
  readonly stored: StoredDocument;
}

/** A document to be written. */
export type NewDocument<Value = unknown> = Omit<StoredDocument, "body"> & { readonly value: Value };

/** What a run is told in the commit that revises a document. */
export interface Telling {
  readonly runId: string;
  readonly message: string;
  readonly value: unknown;
  readonly id?: string;
}

/** What is kept beside the runs: human tasks, deployments. For packages that build on the engine. */
export class Documents {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  async get<Value = unknown>(kind: string, id: string): Promise<DocumentView<Value> | null> {
    const { config, worker } = this.#parts;
    const found = await worker.withRetry(() => config.store.reader.document(kind, id));
    return found === null ? null : this.#view<Value>(found);
  }

  /** By id; `where` compares attributes for equality. */
  async list<Value = unknown>(
    query: Omit<DocumentQuery, "limit"> & { readonly limit?: number },
  ): Promise<Page<DocumentView<Value>>> {
    const { config, worker } = this.#parts;
    const page = await worker.withRetry(() => config.store.reader.documents({ limit: 100, ...query }));
    return { items: page.items.map((each) => this.#view<Value>(each)), cursor: page.cursor };
  }

  /**
   * Puts a document where `seen` was read, null: where none was, and tells a run of it in the same commit. `changed`: it is not
   * any more what was read; `ended`: the run that was to be told can't hear. Nothing is done then. What is written has to differ
   * from what anybody else may write: by an id or by who wrote it.
   */
  async revise<Value>(
    seen: Pick<DocumentView, "stored"> | null,
    { value, ...rest }: NewDocument<Value>,
    telling?: Telling,
  ): Promise<OutcomeOf<Extract<Op, { kind: "revise" }>>> {
    const { codec, submit } = this.#parts;
    const document: StoredDocument = { ...rest, body: codec.encode(value, `document ${rest.kind} ${rest.id}`) };
    const told = telling === undefined ? null : this.#post(telling);
    return await submit({ kind: "revise", seen: seen?.stored ?? null, document, post: told });
  }

  #post({ runId, message, value, id }: Telling): MessagePost {
    const { config, codec } = this.#parts;
    return sendOp({ ...config, codecInUse: codec }, runId, message, value, id === undefined ? {} : { id }).post;
  }

  #view<Value>(stored: StoredDocument): DocumentView<Value> {
    const { body, ...rest } = stored;
    return { ...rest, value: this.#parts.codec.decode(body) as Value, stored };
  }
}
