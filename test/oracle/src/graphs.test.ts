import { bpmnToGraphs, graphToBpmn, Instance, type Process, readBpmn } from "@pawl/bpmn";
import { describe, expect, it } from "vitest";
import { documentOf } from "./document.ts";
import { drive } from "./drive.ts";
import { processOf } from "./seeds.ts";

const SEEDS = 300;

/** Writes a document as a graph, and the graph as a document. */
async function viaGraph(document: string): Promise<string> {
  const [graph] = await bpmnToGraphs(document);
  if (graph === undefined) throw new Error("the document contains no process");
  return graphToBpmn(graph);
}

/** A process without the places of its text, and in an order that does not depend on the document. */
function contentOf(process: Process | undefined): unknown {
  if (process === undefined) return null;
  const byId = <Item extends { readonly id: string }>(items: Iterable<Item>): readonly Item[] =>
    [...items].sort((a, b) => (a.id < b.id ? -1 : 1));
  return {
    ...process,
    elements: byId(process.elements.values()).map((each) => ({
      ...each,
      line: null,
      incoming: [...each.incoming].sort(),
      properties: {},
    })),
    flows: byId(process.flows.values()).map((flow) => ({ ...flow, line: null })),
    scopes: byId(process.scopes.values()),
  };
}

describe("random processes as JSON graphs", () => {
  it(`a document, its graph, and the document of the graph are the same process for ${SEEDS} seeds`, async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const document = documentOf(processOf(seed));
      const graphs = await bpmnToGraphs(document);
      const again = await viaGraph(document);
      expect(await bpmnToGraphs(again), `seed ${seed}`).toEqual(graphs);
      const [before] = await readBpmn(document);
      const [after] = await readBpmn(again);
      expect(contentOf(after), `seed ${seed}`).toEqual(contentOf(before));
    }
  });

  it(`a process that was a graph runs like its document for ${SEEDS} seeds`, async () => {
    for (let seed = 1; seed <= SEEDS; seed += 1) {
      const { flaw, trace } = await drive(processOf(seed), Instance, seed, viaGraph);
      expect(flaw, `seed ${seed}\n${trace.join("\n")}`).toBe(null);
    }
  });
});
