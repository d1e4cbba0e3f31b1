import { kinds, optionTable, readOptions } from "pawl";
import { isSubProcess, type Process } from "../model/process.ts";
import { XML_LIMITS } from "../xml/xml-element.ts";
import { withDocumentIds, withGraphIds } from "./graph-ids.ts";
import { modelInvalid } from "./problem.ts";
import { readBpmn } from "./read-bpmn.ts";
import { type Graph, readGraph, withNodeTypes } from "./read-graph.ts";
import { writeBpmn } from "./write-bpmn.ts";
import { writeGraph } from "./write-graph.ts";

export interface ConvertGraphOptions {
  /** The node types that the graph uses besides those of BPMN. */
  readonly nodeTypes?: readonly string[];
}

const OPTIONS = optionTable<ConvertGraphOptions>("graphToBpmn", { nodeTypes: kinds.list(kinds.name) });

/** Documents that nest deeper are not read. */
const DEPTH_MAX = 50;

/** Writes a JSON graph as a BPMN 2.0 document with a generated diagram. A graph that cannot be deployed is rejected. */
export function graphToBpmn(graph: Graph, given?: ConvertGraphOptions): string {
  const { nodeTypes = [] } = readOptions(OPTIONS, given);
  const known = withNodeTypes(graph, nodeTypes);
  // Its problems name the ids of the graph.
  checkDepth(readGraph(known));
  const document = writeBpmn(readGraph(withDocumentIds(known)));
  checkSize(document);
  return document;
}

/**
 * Writes each executable process of a BPMN 2.0 document as a JSON graph. A graph has everything that is executed. Diagrams, lanes and
 * documentation are not part of it.
 */
export async function bpmnToGraphs(document: string | Uint8Array): Promise<readonly Graph[]> {
  const processes = await readBpmn(document);
  return processes.filter(({ isExecutable }) => isExecutable).map((process) => withGraphIds(writeGraph(process)));
}

/** A larger document could not be read. */
function checkSize(document: string): void {
  let elements = 0;
  for (let at = document.indexOf("<"); at >= 0; at = document.indexOf("<", at + 1))
    if (document[at + 1] !== "/") elements += 1;
  const { charsMax, elementsMax } = XML_LIMITS;
  if (document.length <= charsMax && elements <= elementsMax) return;
  const text = `its document would have ${document.length} characters and ${elements} elements; at most ${charsMax} and ${elementsMax} can be read`;
  throw modelInvalid("the graph", [{ element: null, line: null, text }]);
}

function checkDepth({ id, elements }: Process): void {
  for (const element of elements.values()) {
    if (!isSubProcess(element)) continue;
    let depth = 0;
    for (let at = element.scope; at !== id && depth <= DEPTH_MAX; at = elements.get(at)?.scope ?? id) depth += 1;
    if (depth < DEPTH_MAX) continue;
    const text = `sub-processes are nested more than ${DEPTH_MAX} levels deep; flatten them`;
    throw modelInvalid("the graph", [{ element: element.id, line: null, text }]);
  }
}
