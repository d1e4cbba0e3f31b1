import type { Op, OutcomeOf } from "../model/op.ts";
import {
  kinds,
  type OptionKind,
  openTable,
  optionTable,
  PAGE_KINDS,
  readArgument,
  readOptions,
} from "../model/option-check.ts";
import { type Reading, readingOf } from "../model/payload.ts";
import type { Payload } from "../model/run.ts";
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

/** Stores index these texts. An index of PostgreSQL holds 2,700 bytes, which are a kind, an attribute and an id of these sizes. */
const DOCUMENT_KIND = kinds.bytesUpTo(200);
const ATTRIBUTE = kinds.bytesUpTo(1_200);
const DOCUMENT_ID = kinds.bytesUpTo(1_200);

const BODY = kinds.nullable(kinds.text) satisfies OptionKind<Payload>;

const ATTRIBUTES = kinds.options(
  optionTable<StoredDocument["attributes"]>("attributes", { a: ATTRIBUTE, b: ATTRIBUTE, c: ATTRIBUTE, d: ATTRIBUTE }),
);

const ROW_KINDS = {
  kind: kinds.required(DOCUMENT_KIND),
  id: kinds.required(DOCUMENT_ID),
  runId: kinds.required(kinds.nullable(kinds.runId)),
  attributes: kinds.required(ATTRIBUTES),
};
const NEW_DOCUMENT = optionTable<NewDocument<never>>("the document", { ...ROW_KINDS, value: kinds.value });
const SEEN = kinds.nullable(
  kinds.options(
    openTable<Pick<DocumentView, "stored">>("the seen document", {
      stored: kinds.required(kinds.record<StoredDocument>("the stored document", { ...ROW_KINDS, body: BODY })),
    }),
  ),
);
const DOCUMENT_MESSAGE = kinds.optional(
  kinds.options(
    optionTable<DocumentMessage>("notify", {
      runId: kinds.required(kinds.runId),
      message: kinds.required(kinds.name),
      value: kinds.value,
      id: kinds.name,
    }),
  ),
);

type ListQuery = Omit<DocumentQuery, "limit"> & { readonly limit?: number };
const LIST_QUERY = optionTable<ListQuery>("documents.list", {
  ...PAGE_KINDS,
  kind: kinds.required(DOCUMENT_KIND),
  where: ATTRIBUTES,
});

/** Reads and writes documents, such as human tasks and deployments. For packages that build on the engine. */
export class Documents {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  async get<Value = unknown>(documentKind: string, id: string): Promise<DocumentView<Value> | null> {
    const { config, worker } = this.#parts;
    readArgument(DOCUMENT_KIND, documentKind, "kind");
    readArgument(DOCUMENT_ID, id, "id");
    const found = await worker.withRetry(() => config.store.reader.document(documentKind, id));
    return found === null ? null : this.#view<Value>(found);
  }

  /** Lists documents by id. `where` compares attributes for equality. */
  async list<Value = unknown>(query: ListQuery): Promise<Page<DocumentView<Value>>> {
    const { config, worker } = this.#parts;
    const given = readOptions(LIST_QUERY, query);
    const page = await worker.withRetry(() => config.store.reader.documents({ limit: 100, ...given }));
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
    document: NewDocument<Value>,
    notify?: DocumentMessage,
  ): Promise<OutcomeOf<Extract<Op, { kind: "revise" }>>> {
    const { codec, submit } = this.#parts;
    const before = readArgument(SEEN, seen, "seen");
    const { value, ...rest } = readOptions<NewDocument<Value>>(NEW_DOCUMENT, document);
    const message = readArgument(DOCUMENT_MESSAGE, notify, "notify");
    const stored: StoredDocument = { ...rest, body: codec.encode(value, `document ${rest.kind} ${rest.id}`) };
    const post = message === undefined ? null : this.#post(message);
    return await submit({ kind: "revise", seen: before?.stored ?? null, document: stored, post });
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
