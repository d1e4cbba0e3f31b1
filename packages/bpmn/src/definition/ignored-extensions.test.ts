import { describe, expect, test } from "vitest";
import { flows } from "../testing/document.ts";
import { inspectBpmn } from "./read-bpmn.ts";

const CAMUNDA = 'xmlns:camunda="http://camunda.org/schema/1.0/bpmn"';
const ZEEBE = 'xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"';

async function ignoredIn(namespaces: string, inside: string, attributes = "", beside = ""): Promise<readonly string[]> {
  const xml = `<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" ${namespaces} targetNamespace="urn:test">
${beside}<process id="p" isExecutable="true" ${attributes}>
<startEvent id="s"/><endEvent id="e"/>${inside}${flows("s -> a\na -> e")}</process></definitions>`;
  const { ignored } = await inspectBpmn(xml);
  return ignored.map(({ element, extension, line }) => `${line} ${element} ${extension}`);
}

describe("extensions that are not executed", () => {
  test("an extension element and an extension attribute without a meaning are listed with element and line", async () => {
    const inside = `<serviceTask id="a" camunda:topic="t"
  camunda:jobPriority="5"><extensionElements><camunda:field name="f"/>
<camunda:inputOutput><camunda:inputParameter name="x">1</camunda:inputParameter></camunda:inputOutput></extensionElements></serviceTask>`;
    expect(await ignoredIn(CAMUNDA, inside, 'camunda:historyTimeToLive="180"')).toEqual([
      "2 p camunda:historyTimeToLive",
      "3 a camunda:jobPriority",
      "4 a camunda:field",
    ]);
  });

  test("an extension on an element for which it has no meaning is listed", async () => {
    const inside = `<manualTask id="a" camunda:assignee="ann" camunda:asyncBefore="true"/>`;
    expect(await ignoredIn(CAMUNDA, inside)).toEqual(["3 a camunda:assignee"]);
  });

  test("a part of an extension that is not executed is listed alone", async () => {
    const inside = `<callActivity id="a"><extensionElements><zeebe:calledElement processId="q" businessId="x"/></extensionElements></callActivity>`;
    expect(await ignoredIn(ZEEBE, inside)).toEqual(["3 a zeebe:calledElement businessId"]);
  });

  test("colors, templates, diagrams and processes that are not executable list nothing", async () => {
    const color = 'xmlns:bioc="http://bpmn.io/schema/bpmn/biocolor/1.0"';
    const inside = `<serviceTask id="a" bioc:stroke="#000" zeebe:modelerTemplate="io.x"><extensionElements><zeebe:taskDefinition type="t"/></extensionElements></serviceTask>`;
    const beside = `<process id="other" zeebe:foo="1"/><collaboration id="c"><participant id="q" processRef="p" zeebe:foo="1"/></collaboration>`;
    expect(await ignoredIn(`${ZEEBE} ${color}`, inside, "", beside)).toEqual([]);
  });

  test("an extension of a message and one inside of a sub-process are listed with the nearest id", async () => {
    const beside = '<message id="m" name="m"><extensionElements><zeebe:foo/></extensionElements></message>';
    const inside = `<subProcess id="a"><startEvent id="b"><timerEventDefinition zeebe:bar="1"><timeDuration>PT1S</timeDuration></timerEventDefinition></startEvent></subProcess>`;
    expect(await ignoredIn(ZEEBE, inside, "", beside)).toEqual(["2 m zeebe:foo", "3 b zeebe:bar"]);
  });
});
