import {
  type ActivityElement,
  type Binding,
  type Element,
  type EventElement,
  type EventTrigger,
  type Expression,
  type Flow,
  isActivity,
  isEvent,
  isSubProcess,
  type Mapping,
  type MultiInstance,
  type Process,
  type TaskElement,
} from "../model/process.ts";
import { type Association, diagramOf } from "./diagram.ts";
import { BPMN_NAMESPACE } from "./moddle.ts";
import { markComputed, plainProperties } from "./write-graph.ts";
import { escapeXml, tag } from "./xml-text.ts";

const NAMESPACES = {
  xmlns: BPMN_NAMESPACE,
  "xmlns:xsi": "http://www.w3.org/2001/XMLSchema-instance",
  "xmlns:bpmndi": "http://www.omg.org/spec/BPMN/20100524/DI",
  "xmlns:dc": "http://www.omg.org/spec/DD/20100524/DC",
  "xmlns:di": "http://www.omg.org/spec/DD/20100524/DI",
  "xmlns:pawl": "urn:pawl:bpmn",
};

/** Writes a process as a BPMN 2.0 document with a diagram. Reading the document gives the same process. */
export function writeBpmn(process: Process): string {
  const writer = new BpmnWriter(process);
  const content = writer.process();
  const attributes = { ...NAMESPACES, id: writer.freshId("definitions"), targetNamespace: "urn:pawl:graph" };
  const inside = [...writer.roots, content, diagramOf(process, writer.associations, (name) => writer.freshId(name))];
  return `<?xml version="1.0" encoding="UTF-8"?>\n${tag("definitions", attributes, inside)}\n`;
}

type Attributes = Readonly<Record<string, string | null>>;

/** Writes the elements of one process, and collects the definitions that they refer to. */
class BpmnWriter {
  readonly associations: Association[] = [];
  readonly #process: Process;
  readonly #used: Set<string>;
  readonly #roots = new Map<string, { readonly id: string; readonly text: string }>();

  constructor(process: Process) {
    this.#process = process;
    this.#used = new Set([process.id, ...process.elements.keys(), ...process.flows.keys()]);
  }

  /** The messages, signals, errors and escalations that were referred to. */
  get roots(): readonly string[] {
    return [...this.#roots.values()].map(({ text }) => text);
  }

  /** An id that nothing else in the document has. */
  freshId(name: string): string {
    let id = name;
    for (let count = 2; this.#used.has(id); count += 1) id = `${name}-${count}`;
    this.#used.add(id);
    return id;
  }

  process(): string {
    const { id, name, versionTag } = this.#process;
    const attributes = { id, name, isExecutable: "true", "pawl:versionTag": versionTag };
    return tag("process", attributes, this.#scope(id));
  }

  /** The content of a process or sub-process. */
  #scope(id: string): readonly string[] {
    const { scopes, elements } = this.#process;
    const { data = [], elements: inside = [] } = scopes.get(id) ?? {};
    const own = inside.flatMap((each) => elements.get(each) ?? []);
    const flows = own.flatMap(({ outgoing }) => outgoing.flatMap((each) => this.#process.flows.get(each) ?? []));
    return [
      ...data.map((name) => tag("property", { id: this.freshId(`${id}.${plainId(name)}`), name })),
      ...own.map((element) => this.#element(element)),
      ...flows.map((flow) => this.#flow(flow)),
      ...own.flatMap((element) => this.#association(element)),
    ];
  }

  #flow({ id, name, source, target, condition }: Flow): string {
    const inside = condition === null ? [] : [formal("conditionExpression", condition)];
    return tag("sequenceFlow", { id, name, sourceRef: source, targetRef: target }, inside);
  }

  /** The association of a compensation event with the handler of its host. */
  #association(event: Element): readonly string[] {
    if (event.type !== "boundaryEvent" || !event.triggers.some(({ kind }) => kind === "compensation")) return [];
    const host = this.#process.elements.get(event.attachedTo ?? "");
    const target = host !== undefined && isActivity(host) ? host.compensatedBy : null;
    if (target === null) return [];
    const id = this.freshId(`${event.id}.association`);
    this.associations.push({ id, source: event.id, target });
    return [tag("association", { id, sourceRef: event.id, targetRef: target, associationDirection: "One" })];
  }

  #element(element: Element): string {
    const { id, name, incoming, outgoing } = element;
    const type = element.type === "eventSubProcess" ? "subProcess" : element.type;
    const own = isEvent(element)
      ? this.#event(element)
      : isActivity(element)
        ? this.#activity(element)
        : gateway(element);
    const flows = [
      ...incoming.map((flow) => tag("incoming", {}, [escapeXml(flow)])),
      ...outgoing.map((flow) => tag("outgoing", {}, [escapeXml(flow)])),
    ];
    const extensions = [...own.extensions, ...listenersOf(element), ...formOf(element), ...propertiesOf(element)];
    const extended = extensions.length === 0 ? [] : [tag("extensionElements", {}, extensions)];
    return tag(type, { id, name, ...own.attributes }, [...extended, ...flows, ...own.inside]);
  }

  #event(event: EventElement): Written {
    const { type, isInterrupting, isParallel, attachedTo, outputs, handler } = event;
    const continues = isInterrupting ? null : "false";
    return {
      attributes: {
        attachedToRef: attachedTo,
        [type === "boundaryEvent" ? "cancelActivity" : "isInterrupting"]: continues,
        parallelMultiple: isParallel ? "true" : null,
        "pawl:handler": handler,
      },
      extensions: ioMapping([], outputs),
      inside: event.triggers.map((trigger) => this.#trigger(trigger)),
    };
  }

  #trigger(trigger: EventTrigger, id: string | null = null): string {
    const definition = (name: string, attributes: Attributes = {}, inside: readonly string[] = []): string =>
      tag(`${name}EventDefinition`, { id, ...attributes }, inside);
    switch (trigger.kind) {
      case "message":
        return definition("message", { messageRef: this.#message(trigger) });
      case "signal":
        return definition("signal", { signalRef: this.#root("signal", { name: valueText(trigger.name) }) });
      case "timer": {
        const name = { date: "timeDate", duration: "timeDuration", cycle: "timeCycle" }[trigger.timer];
        return definition("timer", {}, [formal(name, trigger.value)]);
      }
      case "error": {
        const { code, message, codeVariable = null, messageVariable = null, failures = false } = trigger;
        const error = { errorCode: code, "pawl:errorMessage": message === undefined ? null : valueText(message) };
        return definition("error", {
          errorRef: code === null && message === undefined ? null : this.#root("error", error),
          "pawl:errorCodeVariable": codeVariable,
          "pawl:errorMessageVariable": messageVariable,
          "pawl:catchFailures": failures ? "true" : null,
        });
      }
      case "escalation": {
        const { code, codeVariable = null } = trigger;
        return definition("escalation", {
          escalationRef: code === null ? null : this.#root("escalation", { escalationCode: code }),
          "pawl:escalationCodeVariable": codeVariable,
        });
      }
      case "conditional":
        return definition("conditional", {}, [formal("condition", trigger.condition)]);
      case "link":
        return definition("link", { name: trigger.name });
      case "compensation":
        return definition("compensate", {
          activityRef: trigger.activity,
          waitForCompletion: trigger.waits ? null : "false",
        });
      case "cancel":
      case "terminate":
        return definition(trigger.kind);
    }
  }

  #message({ name, key }: { readonly name: string; readonly key: Expression | null }): string {
    return this.#root("message", { name, "pawl:correlationKey": key === null ? null : valueText(key) });
  }

  /** The id of a definition beside the process. Equal definitions are written once. */
  #root(type: string, attributes: Attributes): string {
    const key = JSON.stringify([type, attributes]);
    const known = this.#roots.get(key);
    if (known !== undefined) return known.id;
    const id = this.freshId(`${type}-${this.#roots.size + 1}`);
    this.#roots.set(key, { id, text: tag(type, { id, ...attributes }) });
    return id;
  }

  #activity(element: ActivityElement): Written {
    const { loop, isForCompensation, startQuantity, completionQuantity, inputs, outputs, dataOutputs } = element;
    const own = isSubProcess(element) ? this.#subProcess(element) : this.#task(element);
    return {
      attributes: {
        default: element.default,
        isForCompensation: isForCompensation ? "true" : null,
        startQuantity: startQuantity === 1 ? null : String(startQuantity),
        completionQuantity: completionQuantity === 1 ? null : String(completionQuantity),
        ...own.attributes,
      },
      extensions: [...ioMapping(inputs, outputs), ...own.extensions],
      inside: [
        ...dataOutputs.map((mapping) => this.#dataOutput(element, mapping)),
        ...(loop === null ? [] : [loop.kind === "multi" ? this.#multi(element, loop) : standardLoop(loop)]),
        ...own.inside,
      ],
    };
  }

  #dataOutput({ id }: Element, { source, target }: Mapping): string {
    const inside = [formal("from", source), tag("to", { "xsi:type": "tFormalExpression" }, [escapeXml(target)])];
    return tag("dataOutputAssociation", { id: this.freshId(`${id}.output`) }, [tag("assignment", {}, inside)]);
  }

  #multi(element: Element, loop: MultiInstance): string {
    const { sequential, cardinality, collection, item, output, completion, throws } = loop;
    const extended = {
      inputCollection: collection === null ? null : `=${collection.text}`,
      inputElement: item,
      outputCollection: output?.variable ?? null,
      outputElement: output === null ? null : `=${output.element.text}`,
    };
    const isExtended = collection !== null || item !== null || output !== null;
    const extensions = [tag("extensionElements", {}, [tag("pawl:loopCharacteristics", extended)])];
    const [first] = throws;
    const isComplex = first !== undefined && typeof first.when !== "string";
    const behavior = first === undefined ? null : isComplex ? "Complex" : first.when === "each" ? "None" : "One";
    const thrown = first === undefined || first.trigger === null || isComplex ? null : first.trigger;
    return tag(
      "multiInstanceLoopCharacteristics",
      {
        isSequential: sequential ? "true" : null,
        behavior,
        noneBehaviorEventRef: behavior === "None" && thrown !== null ? this.#thrown(element, thrown) : null,
        oneBehaviorEventRef: behavior === "One" && thrown !== null ? this.#thrown(element, thrown) : null,
      },
      [
        ...(isExtended ? extensions : []),
        ...(cardinality === null ? [] : [formal("loopCardinality", cardinality)]),
        ...(isComplex ? this.#complexThrows(element, loop) : []),
        ...(completion === null ? [] : [formal("completionCondition", completion)]),
      ],
    );
  }

  #complexThrows({ id }: Element, { throws }: MultiInstance): readonly string[] {
    return throws.flatMap(({ when, trigger }) => {
      if (typeof when === "string") return [];
      const inside = trigger === null ? [] : [this.#trigger(trigger)];
      const event = tag("event", { id: this.freshId(`${id}.throws`) }, inside);
      const own = { id: this.freshId(`${id}.behavior`) };
      return [tag("complexBehaviorDefinition", own, [formal("condition", when), event])];
    });
  }

  /** The id of a definition beside the process, for an event that instances throw. */
  #thrown({ id: element }: Element, trigger: EventTrigger): string {
    const id = this.freshId(`${element}.throws`);
    this.#roots.set(id, { id, text: this.#trigger(trigger, id) });
    return id;
  }

  #task(element: Exclude<ActivityElement, { adHoc: unknown }>): Written {
    if (element.type === "callActivity") {
      const { called, version, waits, passes = "all", returns = null } = element;
      const text = valueText(called);
      // A prefix of this document would be removed from the attribute.
      const isPlain = !text.includes(":");
      const extended = {
        processId: isPlain ? null : text,
        propagateAllParentVariables: passes === "inputs" ? "false" : null,
        propagateAllChildVariables: returns === "outputs" ? "false" : null,
      };
      return {
        attributes: {
          calledElement: isPlain ? text : null,
          ...bindingAttributes("calledElement", element.binding),
          ...(version !== null && { "pawl:calledElementVersion": String(version) }),
          "pawl:waitForCompletion": waits ? null : "false",
        },
        extensions: [
          ...(isPlain && passes === "all" && returns !== "outputs" ? [] : [tag("pawl:calledElement", extended)]),
          ...(returns === "all" ? [tag("pawl:out", { variables: "all" })] : []),
        ],
        inside: [],
      };
    }
    const { handler, script, decision, resultVariable, message, instantiates, retry } = element;
    const isScript = element.type === "scriptTask";
    return {
      attributes: {
        "pawl:handler": handler,
        "pawl:decisionRef": decision,
        ...bindingAttributes(element.type === "userTask" ? "formRef" : "decisionRef", element.binding),
        "pawl:resultVariable": resultVariable,
        messageRef: message === null ? null : this.#message(message),
        instantiate: instantiates ? "true" : null,
        scriptFormat: isScript ? (script?.format ?? null) : null,
      },
      extensions: retry === null ? [] : [tag("pawl:retry", texts(retry))],
      inside: script !== null && isScript ? [tag("script", {}, [escapeXml(script.text)])] : [],
    };
  }

  #subProcess(element: Extract<ActivityElement, { adHoc: unknown }>): Written {
    const { id, type, adHoc } = element;
    const completion = adHoc?.completion ?? null;
    const active = adHoc?.active ?? null;
    return {
      attributes: {
        triggeredByEvent: type === "eventSubProcess" ? "true" : null,
        ordering: adHoc?.sequential === true ? "Sequential" : null,
        cancelRemainingInstances: adHoc?.cancelsRemaining === false ? "false" : null,
      },
      extensions: active === null ? [] : [tag("pawl:adHoc", { activeElementsCollection: `=${active.text}` })],
      inside: [...(completion === null ? [] : [formal("completionCondition", completion)]), ...this.#scope(id)],
    };
  }
}

/** The attributes that select a version of what an element refers to. */
function bindingAttributes(
  name: "calledElement" | "decisionRef" | "formRef",
  binding: Binding | undefined,
): Attributes {
  if (binding === undefined) return {};
  return {
    [`pawl:${name}Binding`]: binding.kind,
    [`pawl:${name}VersionTag`]: binding.kind === "versionTag" ? binding.tag : null,
    [`pawl:${name}Version`]: binding.kind === "version" ? String(binding.version) : null,
  };
}

/** What an element has besides id, name and flows. */
interface Written {
  readonly attributes: Attributes;
  readonly extensions: readonly string[];
  readonly inside: readonly string[];
}

function gateway(element: Exclude<Element, EventElement | ActivityElement>): Written {
  const { instantiates, activation } = element;
  return {
    attributes: {
      default: element.default,
      instantiate: instantiates === null ? null : "true",
      eventGatewayType: instantiates === "each" ? "Parallel" : null,
    },
    extensions: [],
    inside: activation === null ? [] : [formal("activationCondition", activation)],
  };
}

function standardLoop({ testBefore, condition, maximum }: Extract<ActivityElement["loop"], { kind: "standard" }>) {
  return tag(
    "standardLoopCharacteristics",
    { testBefore: testBefore ? "true" : null, loopMaximum: maximum === null ? null : String(maximum) },
    condition === null ? [] : [formal("loopCondition", condition)],
  );
}

function listenersOf({ listeners = [] }: Element): readonly string[] {
  return listeners.map(({ event, handler, retry }) => {
    const name = event === "create" || event === "complete" ? "pawl:taskListener" : "pawl:executionListener";
    return tag(name, { event, type: handler, retries: retry === null ? null : String(retry.maxAttempts) });
  });
}

function formOf(element: Element): readonly string[] {
  if (!("form" in element) || element.form === undefined) return [];
  const { schema, defaults } = element.form;
  const inside = defaults.map(({ source, target }) =>
    tag("pawl:default", { name: target }, [escapeXml(valueText(source))]),
  );
  return [tag("pawl:form", { schema }, inside)];
}

function propertiesOf(element: Element): readonly string[] {
  const properties = Object.entries(plainProperties(element));
  if (properties.length === 0) return [];
  return [
    tag(
      "pawl:properties",
      {},
      properties.map(([name, value]) => tag("pawl:property", { name, value })),
    ),
  ];
}

function ioMapping(inputs: readonly Mapping[], outputs: readonly Mapping[]): readonly string[] {
  if (inputs.length + outputs.length === 0) return [];
  const mapping = (name: string, { source, target }: Mapping): string =>
    tag(`pawl:${name}`, { name: target }, [escapeXml(valueText(source))]);
  const inside = [...inputs.map((each) => mapping("input", each)), ...outputs.map((each) => mapping("output", each))];
  return [tag("pawl:ioMapping", {}, inside)];
}

function texts(retry: NonNullable<TaskElement["retry"]>): Attributes {
  return Object.fromEntries(Object.entries(retry).map(([name, value]) => [name, String(value)]));
}

/** An expression as an element. A computed text is marked, so that the language of a document never applies to it. */
function formal(name: string, expression: Expression): string {
  const attributes = { "xsi:type": "tFormalExpression", language: expression.language };
  return tag(name, attributes, [escapeXml(valueText(expression))]);
}

function valueText({ text, isStatic }: Expression): string {
  return isStatic ? text : markComputed(text);
}

function plainId(name: string): string {
  return name.replace(/[^\p{L}\p{N}_.-]+/gu, "_").slice(0, 40);
}
