import type { Process } from "../model/process.ts";

/** A process as a graph in JSON: nodes, and connections between them. */
export interface Graph {
  readonly id: string;
  readonly name?: string;
  readonly nodes: readonly GraphNode[];
  readonly connections: readonly GraphConnection[];
}

export interface GraphNode {
  readonly id: string;
  readonly type: string;
  readonly data?: Readonly<Record<string, unknown>>;
}

export interface GraphConnection {
  readonly id?: string;
  readonly source: string;
  readonly target: string;
  readonly condition?: string;
  readonly isDefault?: boolean;
}

export function readGraph(_graph: Graph): Process {
  throw new Error("graphs are not read yet");
}
