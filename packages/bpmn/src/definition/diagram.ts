import { isSubProcess, type Process } from "../model/process.ts";
import { type Box, layoutOf, type Point } from "./layout.ts";
import { tag } from "./xml-text.ts";

/** An association between a compensation event and the activity that undoes its host. */
export interface Association {
  readonly id: string;
  readonly source: string;
  readonly target: string;
}

/** The diagram of a process, as the last part of its document. */
export function diagramOf(
  process: Process,
  associations: readonly Association[],
  freshId: (name: string) => string,
): string {
  const { boxes, lines } = layoutOf(process);
  const shapes = [...boxes].map(([id, box]) => {
    const element = process.elements.get(id);
    const attributes = {
      id: freshId(`${id}.shape`),
      bpmnElement: id,
      isExpanded: element !== undefined && isSubProcess(element) ? "true" : null,
      isMarkerVisible: element?.type === "exclusiveGateway" ? "true" : null,
    };
    return tag("bpmndi:BPMNShape", attributes, [boundsOf(box)]);
  });
  const ends = associations.flatMap(({ id, source, target }) => {
    const from = boxes.get(source);
    const to = boxes.get(target);
    return from === undefined || to === undefined ? [] : [[id, [centreOf(from), centreOf(to)]] as const];
  });
  const edges = [...lines, ...ends].map(([id, points]) =>
    tag("bpmndi:BPMNEdge", { id: freshId(`${id}.edge`), bpmnElement: id }, points.map(waypointOf)),
  );
  const plane = { id: freshId(`${process.id}.plane`), bpmnElement: process.id };
  return tag("bpmndi:BPMNDiagram", { id: freshId(`${process.id}.diagram`) }, [
    tag("bpmndi:BPMNPlane", plane, [...shapes, ...edges]),
  ]);
}

function boundsOf({ x, y, width, height }: Box): string {
  return tag("dc:Bounds", { x: String(x), y: String(y), width: String(width), height: String(height) });
}

function waypointOf({ x, y }: Point): string {
  return tag("di:waypoint", { x: String(x), y: String(y) });
}

function centreOf({ x, y, width, height }: Box): Point {
  return { x: x + width / 2, y: y + height / 2 };
}
