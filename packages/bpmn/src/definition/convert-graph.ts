import { kinds, optionTable, readOptions } from "pawl";
import { isSubProcess, type Process } from "../model/process.ts";
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
  const process = readGraph(withNodeTypes(graph, nodeTypes));
  checkDepth(process);
  return writeBpmn(process);
}

/**
 * Writes each executable process of a BPMN 2.0 document as a JSON graph. A graph has everything that is executed. Diagrams, lanes and
 * documentation are not part of it.
 */
export async function bpmnToGraphs(document: string | Uint8Array): Promise<readonly Graph[]> {
  const processes = await readBpmn(document);
  return processes.filter(({ isExecutable }) => isExecutable).map(writeGraph);
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
