import type { DocumentAttributes, StoredDocument } from "../../model/transition.ts";
import { toColumn, toColumnOrNull } from "../text-column.ts";
import type { StagedDocument, StagedDocumentTable } from "./staged-documents.ts";

/** What is done to documents, as the functions that write it read it. */
export function documentRows({ changes }: StagedDocumentTable): readonly object[] {
  return [...changes.values()].map(documentRow);
}

function documentRow(change: StagedDocument): object {
  switch (change.what) {
    case "remove":
      return { what: change.what, kind: toColumn(change.kind), id: toColumn(change.id) };
    case "put":
      return { what: change.what, ...columnsOf(change.document) };
    case "create":
      return { what: change.what, ...columnsOf(change.document), ...prefixed("m", change.marks) };
    case "mark": {
      const { what, kind, id, marks } = change;
      return { what, kind: toColumn(kind), id: toColumn(id), ...prefixed("m", marks) };
    }
    case "revise": {
      const { what, document, seen } = change;
      if (seen === null) return { what: "insert", ...columnsOf(document) };
      const was = { s_run: toColumnOrNull(seen.runId), s_body: toColumnOrNull(seen.body) };
      return { what, ...columnsOf(document), ...was, ...prefixed("s", seen.attributes) };
    }
  }
}

function columnsOf({ kind, id, runId, body, attributes }: StoredDocument): object {
  const { a, b, c, d } = attributes;
  const texts = { kind: toColumn(kind), id: toColumn(id), run_id: toColumnOrNull(runId), body: toColumnOrNull(body) };
  return { ...texts, a: columnOf(a), b: columnOf(b), c: columnOf(c), d: columnOf(d) };
}

function prefixed(prefix: string, attributes: DocumentAttributes): object {
  return Object.fromEntries(
    (["a", "b", "c", "d"] as const).map((name) => [`${prefix}_${name}`, columnOf(attributes[name])]),
  );
}

function columnOf(text: string | undefined): string | null {
  return toColumnOrNull(text ?? null);
}
