import {
  type Activity,
  type Block,
  type BoundaryEvent,
  type Condition,
  ERRORS,
  ESCALATIONS,
  type Fork,
  isPassable,
  type Many,
  type Race,
  type Scope,
  SIGNALS,
  type Thrown,
  type Trigger,
} from "./block.ts";

/** The element, and the flow, that the next element is connected to. */
interface Tail {
  readonly source: string;
  readonly condition?: string;
  readonly flow?: string;
}

/** The XML lines of one scope. */
interface Page {
  readonly lines: string[];
  flows: number;
  readonly id: string;
}

/** The tree as a BPMN document. */
export function documentOf(scope: Scope): string {
  const roots = [
    ...ERRORS.map((code) => `<error id="${code}" errorCode="${code}"/>`),
    ...ESCALATIONS.map((code) => `<escalation id="${code}" escalationCode="${code}"/>`),
    ...SIGNALS.map((name) => `<signal id="${name}" name="${name}"/>`),
  ];
  return `<?xml version="1.0" encoding="UTF-8"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:pawl="urn:pawl:bpmn" targetNamespace="urn:oracle">
${roots.join("\n")}
<process id="${scope.id}" isExecutable="true">
${insideOf(scope, `<startEvent id="start-${scope.id}"/>`, `start-${scope.id}`)}
</process>
</definitions>`;
}

function insideOf(scope: Scope, startText: string, start: string): string {
  const page: Page = { lines: [startText], flows: 0, id: scope.id };
  closed(page, write(page, scope.body, { source: start }), `end-${scope.id}`);
  for (const { inside, start: id, on, interrupts } of scope.handlers) {
    const event = `<startEvent id="${id}" isInterrupting="${interrupts}">${triggerText(on)}</startEvent>`;
    page.lines.push(
      `<subProcess id="${inside.id}" triggeredByEvent="true">${insideOf(inside, event, id)}</subProcess>`,
    );
  }
  return page.lines.join("\n");
}

/** Adds an end event to an open tail. */
function closed(page: Page, tail: Tail | null, id: string): void {
  if (tail === null) return;
  page.lines.push(`<endEvent id="${id}"/>`);
  connect(page, tail, id);
}

function connect(page: Page, { source, condition, flow }: Tail, target: string): void {
  page.flows += 1;
  const inside = condition === undefined ? "" : `<conditionExpression>${condition}</conditionExpression>`;
  const id = flow ?? `q${page.flows}-${page.id}`;
  page.lines.push(`<sequenceFlow id="${id}" sourceRef="${source}" targetRef="${target}">${inside}</sequenceFlow>`);
}

/** Writes an element with one incoming flow. */
function place(page: Page, tail: Tail, id: string, text: string): Tail {
  page.lines.push(text);
  connect(page, tail, id);
  return { source: id };
}

/** Joins several tails into one. */
function merged(page: Page, tails: readonly Tail[], id: string, gateway: string): Tail | null {
  const [only] = tails;
  if (only === undefined) return null;
  page.lines.push(`<${gateway} id="${id}"/>`);
  for (const tail of tails) connect(page, tail, id);
  return { source: id };
}

function write(page: Page, block: Block, tail: Tail): Tail | null {
  switch (block.kind) {
    case "seq": {
      let at: Tail | null = tail;
      for (const each of block.blocks) if (at !== null) at = write(page, each, at);
      return at;
    }
    case "activity":
      return activity(page, block, tail);
    case "catch":
      return place(page, tail, block.id, catching(block.id, block.on));
    case "throw":
      return place(
        page,
        tail,
        block.id,
        `<intermediateThrowEvent id="${block.id}">${thrownText(block.thrown)}</intermediateThrowEvent>`,
      );
    case "end": {
      const inside =
        block.thrown.kind === "none"
          ? ""
          : definition(block.thrown.kind, "code" in block.thrown ? block.thrown.code : null);
      place(page, tail, block.id, `<endEvent id="${block.id}">${inside}</endEvent>`);
      return null;
    }
    case "link": {
      const link = `<linkEventDefinition name="${block.id}"/>`;
      place(page, tail, block.id, `<intermediateThrowEvent id="${block.id}">${link}</intermediateThrowEvent>`);
      page.lines.push(`<intermediateCatchEvent id="${block.id}-to">${link}</intermediateCatchEvent>`);
      return { source: `${block.id}-to` };
    }
    case "fork":
      return fork(page, block, tail);
    case "race":
      return race(page, block, tail);
    case "repeat": {
      const { id, body, again } = block;
      place(page, tail, `${id}-in`, `<exclusiveGateway id="${id}-in"/>`);
      const end = write(page, body, { source: `${id}-in` });
      if (end === null) return null;
      place(page, end, id, `<exclusiveGateway id="${id}" default="${id}-out"/>`);
      connect(page, { source: id, condition: conditionText(again) }, `${id}-in`);
      return { source: id, flow: `${id}-out` };
    }
  }
}

function fork(page: Page, { id, gateway, branches, enough }: Fork, tail: Tail): Tail | null {
  const split = gateway === "complex" ? "parallelGateway" : `${gateway}Gateway`;
  const hasDefault = branches.some(({ when }) => when === "default");
  // The order of this list is the order of evaluation.
  const outgoing = branches.map(({ when }, i) => `<outgoing>${flowOf(id, when, i)}</outgoing>`).join("");
  place(page, tail, id, `<${split} id="${id}" ${hasDefault ? `default="${id}-else"` : ""}>${outgoing}</${split}>`);
  const ends = branches.flatMap(({ when, body }, i): readonly Tail[] => {
    const condition = typeof when === "string" ? {} : { condition: conditionText(when) };
    const end = write(page, body, { source: id, flow: flowOf(id, when, i), ...condition });
    return end === null ? [] : [end];
  });
  if (gateway !== "complex") return merged(page, ends, `${id}-join`, `${gateway}Gateway`);
  const activation = `<activationCondition>activationCount >= ${enough}</activationCondition>`;
  page.lines.push(`<complexGateway id="${id}-join">${activation}</complexGateway>`);
  for (const end of ends) connect(page, end, `${id}-join`);
  return { source: `${id}-join` };
}

function flowOf(id: string, when: unknown, i: number): string {
  return when === "default" ? `${id}-else` : `${id}-${i}`;
}

function race(page: Page, { id, branches }: Race, tail: Tail): Tail | null {
  place(page, tail, id, `<eventBasedGateway id="${id}"/>`);
  const ends = branches.flatMap((branch): readonly Tail[] => {
    const caught = place(page, { source: id }, branch.id, catching(branch.id, branch.on));
    const end = write(page, branch.body, caught);
    return end === null ? [] : [end];
  });
  return merged(page, ends, `${id}-join`, "exclusiveGateway");
}

const TASKS = { work: "serviceTask", user: "userTask", receive: "receiveTask", call: "callActivity" } as const;

function activity(page: Page, block: Activity, tail: Tail): Tail | null {
  const { id, does, many, undo, boundaryEvents } = block;
  const loop = many === null ? "" : manyText(id, many);
  const start = `start-${id}`;
  if (does.kind === "sub") {
    const tag = does.isTransaction ? "transaction" : "subProcess";
    const inside = insideOf(does.scope, `<startEvent id="${start}"/>`, start);
    place(page, tail, id, `<${tag} id="${id}">${loop}${inside}</${tag}>`);
  } else {
    const called = does.kind === "call" ? ' calledElement="other"' : "";
    place(page, tail, id, `<${TASKS[does.kind]} id="${id}"${called}>${loop}</${TASKS[does.kind]}>`);
  }
  if (undo !== null) {
    page.lines.push(
      `<boundaryEvent id="${id}-undo" attachedToRef="${id}"><compensateEventDefinition/></boundaryEvent>`,
      `<serviceTask id="${undo}" isForCompensation="true"/>`,
      `<association id="${id}-by" sourceRef="${id}-undo" targetRef="${undo}"/>`,
    );
  }
  const ends = [{ source: id }, ...boundaryEvents.flatMap((boundary) => boundaryText(page, id, boundary))];
  return ends.length === 1 ? { source: id } : merged(page, ends, `${id}-on`, "exclusiveGateway");
}

function boundaryText(page: Page, host: string, { id, on, interrupts, rejoins, path }: BoundaryEvent): readonly Tail[] {
  page.lines.push(
    `<boundaryEvent id="${id}" attachedToRef="${host}" cancelActivity="${interrupts}">${triggerText(on)}</boundaryEvent>`,
  );
  const end = write(page, path, { source: id });
  if (end !== null && rejoins && isPassable(path)) return [end];
  closed(page, end, `${id}-end`);
  return [];
}

function manyText(id: string, many: Many): string {
  if (many.kind === "loop") {
    const max = many.max === null ? "" : ` loopMaximum="${many.max}"`;
    const condition = `<loopCondition>${conditionText(many.continues)}</loopCondition>`;
    return `<standardLoopCharacteristics testBefore="${many.testBefore}"${max}>${condition}</standardLoopCharacteristics>`;
  }
  const collection = `<extensionElements><pawl:loopCharacteristics outputCollection="out_${id}" outputElement="= r"/></extensionElements>`;
  const enough = `<completionCondition>numberOfCompletedInstances >= ${many.enough}</completionCondition>`;
  return `<multiInstanceLoopCharacteristics isSequential="${many.kind === "sequential"}">${many.collects ? collection : ""}
<loopCardinality>${many.count}</loopCardinality>${many.enough === null ? "" : enough}</multiInstanceLoopCharacteristics>`;
}

function catching(id: string, on: Trigger): string {
  return `<intermediateCatchEvent id="${id}">${triggerText(on)}</intermediateCatchEvent>`;
}

function thrownText(thrown: Thrown): string {
  if (thrown.kind === "compensation") {
    return `<compensateEventDefinition${thrown.of === null ? "" : ` activityRef="${thrown.of}"`}/>`;
  }
  if (thrown.kind === "signal") return `<signalEventDefinition signalRef="${thrown.name}"/>`;
  return definition(thrown.kind, "code" in thrown ? thrown.code : null);
}

function triggerText(on: Trigger): string {
  switch (on.kind) {
    case "timer":
      return on.times === null
        ? `<timerEventDefinition><timeDuration>PT${on.minutes}M</timeDuration></timerEventDefinition>`
        : `<timerEventDefinition><timeCycle>R${on.times}/PT${on.minutes}M</timeCycle></timerEventDefinition>`;
    case "signal":
      return `<signalEventDefinition signalRef="${on.name}"/>`;
    case "condition":
      return `<conditionalEventDefinition><condition>${conditionText(on.when)}</condition></conditionalEventDefinition>`;
    case "message":
    case "cancel":
      return definition(on.kind, null);
    case "error":
      return definition(on.kind, on.code, on.failures ? ' pawl:catchFailures="true"' : "");
    case "escalation":
      return definition(on.kind, on.code);
  }
}

function definition(
  kind: "message" | "cancel" | "terminate" | "error" | "escalation",
  code: string | null,
  more = "",
): string {
  return `<${kind}EventDefinition${code === null ? "" : ` ${kind}Ref="${code}"`}${more}/>`;
}

function conditionText({ variable, over }: Condition): string {
  return `${variable} > ${over}`;
}
