import { type ActivityElement, type Element, type ElementType, isActivity, isEvent } from "../model/process.ts";
import { type Begin, beginActivity, type Edges } from "./activities.ts";
import { beginEvent } from "./events.ts";
import { beginGateway } from "./gateways.ts";
import { task } from "./human.ts";
import type { Live } from "./live.ts";
import { beginSubProcess } from "./scopes.ts";
import type { Row } from "./state.ts";
import { call, passThrough, receive, script, send, work } from "./tasks.ts";

type Behavior = (live: Live, row: Row, element: Element, edges: Edges) => void;

const event: Behavior = (live, row, element) => {
  if (isEvent(element)) beginEvent(live, row, element);
};

const gateway: Behavior = (live, row, element) => {
  if ("activation" in element) beginGateway(live, row, element);
};

const activity =
  (begin: Begin): Behavior =>
  (live, row, element, edges) => {
    if (isActivity(element)) beginActivity(live, row, element as ActivityElement, begin, edges);
  };

/** What each type of element does when a token has come to it. */
export const BEHAVIORS: Readonly<Record<ElementType, Behavior>> = {
  startEvent: event,
  intermediateCatchEvent: event,
  intermediateThrowEvent: event,
  endEvent: event,
  boundaryEvent: event,
  task: activity(passThrough),
  manualTask: activity(passThrough),
  userTask: activity(task),
  serviceTask: activity(work),
  scriptTask: activity(script),
  businessRuleTask: activity(work),
  sendTask: activity(send),
  receiveTask: activity(receive),
  callActivity: activity(call),
  subProcess: activity(beginSubProcess),
  eventSubProcess: activity(beginSubProcess),
  transaction: activity(beginSubProcess),
  adHocSubProcess: activity(beginSubProcess),
  exclusiveGateway: gateway,
  parallelGateway: gateway,
  inclusiveGateway: gateway,
  complexGateway: gateway,
  eventBasedGateway: gateway,
};
