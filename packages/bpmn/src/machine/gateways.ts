import type { GatewayElement } from "../model/process.ts";
import { exclusiveFlow, inclusiveFlows, takeFlows } from "./flows.ts";
import { count, type Live } from "./live.ts";
import { removeRow } from "./rows.ts";
import type { Row } from "./state.ts";
import { subscribeAll } from "./subscribe.ts";

/** A gateway whose join is complete sends tokens on. */
export function beginGateway(live: Live, row: Row, gateway: GatewayElement): void {
  if (gateway.type === "eventBasedGateway") {
    for (const flow of gateway.outgoing) {
      const event = live.process.elements.get(live.process.flows.get(flow)?.target ?? "");
      if (event !== undefined) subscribeAll(live, row, event);
    }
    return;
  }
  const flows = flowsOf(live, row, gateway, gateway.type);
  count(live, gateway.id);
  takeFlows(live, row.parent, flows);
  removeRow(live, row);
}

function flowsOf(
  live: Live,
  row: Row,
  gateway: GatewayElement,
  type: Exclude<GatewayElement["type"], "eventBasedGateway">,
): readonly string[] {
  switch (type) {
    case "exclusiveGateway":
      return exclusiveFlow(live, row, gateway);
    case "parallelGateway":
      return gateway.outgoing;
    case "inclusiveGateway":
    case "complexGateway":
      return inclusiveFlows(live, row, gateway);
  }
}
