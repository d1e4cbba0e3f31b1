import type { DocumentChange, StoredDocument } from "../../model/transition.ts";
import { toWire, toWireOrNull } from "./text.ts";

/** Documents, as the script reads them. */

type Args = string[];

export function writeDocuments(args: Args, changes: readonly DocumentChange[]): void {
  args.push(String(changes.length));
  for (const change of changes) {
    if ("put" in change) {
      args.push("put");
      writeDocument(args, change.put);
    } else if ("create" in change) {
      args.push("create");
      writeDocument(args, change.create);
    } else if ("mark" in change) {
      args.push("mark", toWire(change.mark.kind), toWire(change.mark.id));
      writeAttributes(args, change.mark.attributes);
    } else args.push("remove", toWire(change.remove.kind), toWire(change.remove.id));
  }
}

export function writeDocument(args: Args, { kind, id, runId, body, attributes }: StoredDocument): void {
  args.push(toWire(kind), toWire(id), toWireOrNull(runId), toWireOrNull(body));
  writeAttributes(args, attributes);
}

function writeAttributes(args: Args, attributes: StoredDocument["attributes"]): void {
  for (const name of ["a", "b", "c", "d"] as const) args.push(toWireOrNull(attributes[name] ?? null));
}
