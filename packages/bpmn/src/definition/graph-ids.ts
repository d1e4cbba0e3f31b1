import { type Data, isData } from "./graph-data.ts";
import type { Graph } from "./read-graph.ts";

/**
 * The ids of graphs may be ids that a BPMN document cannot have, such as `1`. In a document they are written as `pawl_` with each character that
 * is not allowed as a number, and become what they were in the graph of the document.
 */

/** The ids that bpmn-moddle reads. */
const OF_DOCUMENTS = /^(?:[a-z][\w-.]*:)?[a-z_][\w-.]*$/i;
const ENCODED = "pawl_";

/** A graph whose ids a document can have. */
export function withDocumentIds(graph: Graph): Graph {
  return mapped(graph, encoded);
}

/** A graph with the ids that it had before it was a document. */
export function withGraphIds(graph: Graph): Graph {
  return mapped(graph, decoded);
}

function encoded(id: string): string {
  if (OF_DOCUMENTS.test(id) && !id.startsWith(ENCODED)) return id;
  return ENCODED + id.replace(/[^A-Za-z0-9.-]/gu, (char) => `_${(char.codePointAt(0) ?? 0).toString(16)}_`);
}

function decoded(id: string): string {
  if (!id.startsWith(ENCODED)) return id;
  const found = id.slice(ENCODED.length).replace(/_([0-9a-f]{1,6})_/g, (whole, code: string) => {
    const point = Number.parseInt(code, 16);
    return point <= 0x10ffff ? String.fromCodePoint(point) : whole;
  });
  // A modeler may have chosen such an id itself.
  return encoded(found) === id ? found : id;
}

type MapId = (id: string) => string;

function mapped(graph: Graph, map: MapId): Graph {
  return {
    ...graph,
    id: map(graph.id),
    nodes: graph.nodes.map(({ id, parent, data, ...node }) => ({
      ...node,
      id: map(id),
      ...(parent !== undefined && { parent: parent === graph.id ? parent : map(parent) }),
      ...(data !== undefined && { data: dataWith(data, map) }),
    })),
    connections: graph.connections.map(({ id, source, target, ...connection }) => ({
      ...connection,
      ...(id !== undefined && { id: map(id) }),
      source: map(source),
      target: map(target),
    })),
  };
}

/** The fields that name other nodes. */
function dataWith(data: Data, map: MapId): Data {
  const result: Record<string, unknown> = { ...data };
  for (const field of ["attachedTo", "compensatedBy", "errorBoundary"]) {
    const id = data[field];
    if (typeof id === "string") result[field] = map(id);
  }
  if (data.compensation !== undefined) result.compensation = compensationWith(data.compensation, map);
  if (Array.isArray(data.triggers)) result.triggers = data.triggers.map((each) => triggerWith(each, map));
  const many = data.multiInstance;
  if (isData(many) && Array.isArray(many.throws))
    result.multiInstance = { ...many, throws: many.throws.map((each) => triggerWith(each, map)) };
  return result;
}

function triggerWith(trigger: unknown, map: MapId): unknown {
  const isCompensation = isData(trigger) && trigger.compensation !== undefined;
  return isCompensation ? { ...trigger, compensation: compensationWith(trigger.compensation, map) } : trigger;
}

function compensationWith(value: unknown, map: MapId): unknown {
  if (typeof value === "string") return map(value);
  return isData(value) && typeof value.activity === "string" ? { ...value, activity: map(value.activity) } : value;
}
