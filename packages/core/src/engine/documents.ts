import type { Op, OutcomeOf } from "../model/op.ts";
import { type Reading, readingOf } from "../model/payload.ts";
import type { MessagePost, StoredDocument } from "../model/transition.ts";
import type { ControlParts } from "../operator/controls.ts";
import type { DocumentQuery, Page } from "../store/store.ts";
import { sendOp } from "./op-builders.ts";

/** A document with its value decoded. If this codec cannot read the value, `unreadable` says so and `value` is undefined. */
export type DocumentView<Value = unknown> = Omit<StoredDocument, "body"> &
  Reading<Value> & {
    /** The stored row. `revise` compares it with the current row. */
    readonly stored: StoredDocument;
  };

export type NewDocument<Value = unknown> = Omit<StoredDocument, "body"> & { readonly value: Value };

/** A message that is sent to a run in the commit that revises a document. */
export interface DocumentMessage {
  readonly runId: string;
  readonly message: string;
  readonly value: unknown;
  readonly id?: string;
}

/** Reads and writes documents, such as human tasks and deployments. For packages that build on the engine. */
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

  /** Lists documents by id. `where` compares attributes for equality. */
  async list<Value = unknown>(
    query: Omit<DocumentQuery, "limit"> & { readonly limit?: number },
  ): Promise<Page<DocumentView<Value>>> {
    const { config, worker } = this.#parts;
    const page = await worker.withRetry(() => config.store.reader.documents({ limit: 100, ...query }));
    return { items: page.items.map((each) => this.#view<Value>(each)), cursor: page.cursor };
  }

  /**
   * Replaces the document `seen`, or writes a new one if `seen` is null, and sends `notify` to a run in the same commit. Nothing is
   * written with these outcomes:
   * - `changed`: the stored document is not `seen` any more.
   * - `ended`: the run of `notify` has ended.
   *
   * Concurrent writers must write different documents, for example with an id or the writer's name in them.
   */
  async revise<Value>(
    seen: Pick<DocumentView, "stored"> | null,
    { value, ...rest }: NewDocument<Value>,
    notify?: DocumentMessage,
  ): Promise<OutcomeOf<Extract<Op, { kind: "revise" }>>> {
    const { codec, submit } = this.#parts;
    const document: StoredDocument = { ...rest, body: codec.encode(value, `document ${rest.kind} ${rest.id}`) };
    const post = notify === undefined ? null : this.#post(notify);
    return await submit({ kind: "revise", seen: seen?.stored ?? null, document, post });
  }

  #post({ runId, message, value, id }: DocumentMessage): MessagePost {
    const { config, codec } = this.#parts;
    return sendOp({ ...config, codecInUse: codec }, runId, message, value, id === undefined ? {} : { id }).post;
  }

  #view<Value>(stored: StoredDocument): DocumentView<Value> {
    const { body, ...rest } = stored;
    return { ...rest, ...readingOf<Value>(this.#parts.codec, body, `document ${rest.kind} ${rest.id}`), stored };
  }
}
