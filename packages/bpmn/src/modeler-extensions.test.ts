import type { Store } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import { BpmnError } from "./index.ts";
import { documentOf, flows } from "./testing/document.ts";
import { ended, type Site, STORES, siteOf } from "./testing/site.ts";

const site = (store: Store): Promise<Site> => siteOf(store, onTestFinished);

const OWN = 'xmlns:pawl="urn:pawl:bpmn"';

/** A document with the extensions of Camunda 7. */
function camunda(inside: string, text: string, beside = ""): string {
  const document = documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(text)}`, beside);
  return document.replace(OWN, 'xmlns:camunda="http://camunda.org/schema/1.0/bpmn"');
}

/** A document with the extensions of Camunda 8. */
function zeebe(inside: string, text: string, beside = ""): string {
  const document = documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(text)}`, beside);
  return document.replace(OWN, 'xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"');
}

describe.each(STORES)("extensions of modelers, on the store '%s'", (_name, openStore) => {
  test("an event that catches an error assigns its code and message to the variables that the model names", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open({
      handlers: {
        weigh: () => {
          throw new BpmnError("HEAVY", "12 kg", { kg: 12 });
        },
      },
    });
    const xml = camunda(
      `<serviceTask id="a" camunda:class="weigh"/>
       <boundaryEvent id="b" attachedToRef="a"><errorEventDefinition camunda:errorCodeVariable="code" camunda:errorMessageVariable="text"/></boundaryEvent>`,
      "s -> a\na -> e\nb -> e",
    );
    expect((await bpmn.deploy(xml, { strict: true }))[0]).not.toHaveProperty("ignored");
    expect(await ended(world, await bpmn.start("p"))).toEqual({ kg: 12, code: "HEAVY", text: "12 kg" });
  });

  test("an error end event throws the message of its error, and an escalation names its code", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    const inner = (id: string, definition: string): string =>
      `<subProcess id="${id}"><startEvent id="${id}s"/><endEvent id="${id}e">${definition}</endEvent><sequenceFlow id="${id}f" sourceRef="${id}s" targetRef="${id}e"/></subProcess>`;
    const xml = camunda(
      `${inner("a", '<errorEventDefinition errorRef="E"/>')}${inner("b", '<escalationEventDefinition escalationRef="C"/>')}
       <boundaryEvent id="x" attachedToRef="a"><errorEventDefinition errorRef="E" camunda:errorMessageVariable="why"/></boundaryEvent>
       <boundaryEvent id="y" attachedToRef="b"><escalationEventDefinition camunda:escalationCodeVariable="up"/></boundaryEvent>`,
      "s -> a\na -> e\nx -> b\nb -> e\ny -> e",
      '<error id="E" errorCode="E1" camunda:errorMessage="no stock of #{item}"/><escalation id="C" escalationCode="LATE"/>',
    );
    await bpmn.deploy(xml, { strict: true });
    expect(await ended(world, await bpmn.start("p", { item: "ink" }))).toEqual({
      item: "ink",
      why: "no stock of ink",
      up: "LATE",
    });
  });

  test("a retry time cycle sets the attempts of a handler and the time between them", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const times: number[] = [];
    const { bpmn } = await open({
      handlers: {
        charge: () => {
          times.push(world.clock.now());
          throw new Error("down");
        },
      },
    });
    const cycle = (text: string): string =>
      camunda(
        `<serviceTask id="a" camunda:class="charge"><extensionElements><camunda:failedJobRetryTimeCycle>${text}</camunda:failedJobRetryTimeCycle></extensionElements></serviceTask>`,
        "s -> a\na -> e",
      );
    await bpmn.deploy(cycle("R4/PT1M"), { strict: true });
    const run = await bpmn.start("p");
    await world.advance("1 hour");
    expect(times.map((at) => at - (times[0] ?? 0))).toEqual([0, 60_000, 120_000, 180_000]);
    expect((await bpmn.view(run.id)).incidents).toMatchObject([{ element: "a", kind: "failed" }]);
    const [other] = await bpmn.deploy(cycle("PT1M,PT5M"));
    expect(other?.ignored).toMatchObject([{ element: "a", extension: "camunda:failedJobRetryTimeCycle" }]);
  });

  test("a call passes and returns all variables, or only the mapped ones, as the model says", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const seen: unknown[] = [];
    const { bpmn } = await open({
      handlers: {
        look: ({ variables }) => {
          seen.push({ ...variables });
          return { found: 1, more: 2 };
        },
      },
    });
    const called = zeebe(
      `<serviceTask id="a"><extensionElements><zeebe:taskDefinition type="look"/></extensionElements></serviceTask>`,
      "s -> a\na -> e",
    );
    await bpmn.deploy(called.replace('id="p"', 'id="q"'));
    const calling = (attributes: string, mapping: string): string =>
      zeebe(
        `<callActivity id="c"><extensionElements><zeebe:calledElement processId="q" ${attributes}/><zeebe:ioMapping>${mapping}</zeebe:ioMapping></extensionElements></callActivity>`,
        "s -> c\nc -> e",
      );
    const input = '<zeebe:input source="=x + 1" target="y"/>';
    const both = 'propagateAllParentVariables="false" propagateAllChildVariables="false"';
    const results: unknown[] = [];
    for (const xml of [
      calling("", input),
      calling(both, input),
      calling(both, `${input}<zeebe:output source="=found" target="got"/>`),
    ]) {
      await bpmn.deploy(xml, { strict: true });
      results.push(await ended(world, await bpmn.start("p", { x: 1 })));
    }
    expect(seen).toEqual([{ x: 1, y: 2 }, { y: 2 }, { y: 2 }]);
    expect(results).toEqual([{ x: 1, y: 2, found: 1, more: 2 }, { x: 1 }, { x: 1, got: 1 }]);
  });

  test("a call with named inputs passes only these, unless it passes all", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    const called = camunda('<manualTask id="a"/>', "s -> a\na -> e");
    await bpmn.deploy(called.replace('id="p"', 'id="q"'));
    const calling = (mapping: string): string =>
      camunda(
        `<callActivity id="c" calledElement="q"><extensionElements>${mapping}</extensionElements></callActivity>`,
        "s -> c\nc -> e",
      );
    const out = '<camunda:out sourceExpression="#{empty secret}" target="isHidden"/>';
    const key = '<camunda:in businessKey="#{execution.processBusinessKey}"/>';
    await bpmn.deploy(calling(`${key}<camunda:in source="x" target="y"/><camunda:out variables="all"/>`), {
      strict: true,
    });
    expect(await ended(world, await bpmn.start("p", { x: 1, secret: 2 }))).toEqual({ x: 1, secret: 2, y: 1 });
    await bpmn.deploy(calling(`<camunda:in variables="all"/><camunda:in source="x" target="y"/>${out}`), {
      strict: true,
    });
    expect(await ended(world, await bpmn.start("p", { x: 1, secret: 2 }))).toEqual({
      x: 1,
      secret: 2,
      isHidden: false,
    });
    const [other] = await bpmn.deploy(calling('<camunda:in businessKey="#{x}"/>'));
    expect(other?.ignored).toMatchObject([{ element: "c", extension: "camunda:in businessKey" }]);
  });

  test("the handler that sends a message may be named in the event definition", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open({ handlers: { send: () => ({ sent: true }) } });
    const xml = camunda(
      '<intermediateThrowEvent id="a"><messageEventDefinition messageRef="M" camunda:type="external" camunda:topic="send"/></intermediateThrowEvent>',
      "s -> a\na -> e",
      '<message id="M" name="m"/>',
    );
    await bpmn.deploy(xml, { strict: true });
    expect(await ended(world, await bpmn.start("p"))).toEqual({ sent: true });
  });
});
