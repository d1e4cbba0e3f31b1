import { readBpmn } from "@pawl/bpmn";
import { expect, test } from "vitest";
import { flawsOf, runMiwg } from "./miwg.ts";
import { suiteFolder } from "./suites.ts";

const folder = suiteFolder("miwg");

test.skipIf(folder === null)(
  `interchange models are unchanged after reading and writing${folder === null ? " (skipped: models not found)" : ""}`,
  async () => {
    const outcomes = await runMiwg(folder ?? "");
    expect(outcomes.filter(({ flaws }) => flaws.length > 0)).toEqual([]);
    expect(outcomes.length).toBeGreaterThan(0);
  },
);

const document = (inside: string): string =>
  `<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:x="urn:x" targetNamespace="urn:t">
   <process id="p"><startEvent id="s"/>${inside}</process></definitions>`;

test("extensions, mixed texts and line ends in names are kept", async () => {
  const inside = `<documentation>a &lt;b&gt; &amp; c</documentation><task id="t" name="two&#13;&#10;lines" x:own="1">
    <extensionElements><x:more deep="2"><x:inner>text</x:inner></x:more></extensionElements></task>`;
  expect(await flawsOf(document(inside))).toEqual([]);
});

test("references with a qualified name of the document are resolved", async () => {
  const xml = `<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" xmlns:own="urn:t" targetNamespace="urn:t">
    <message id="m" name="paid"/><process id="p" isExecutable="true"><startEvent id="s"/>
    <receiveTask id="r" messageRef="own:m"/><callActivity id="c" calledElement="own:p"/>
    <sequenceFlow id="f" sourceRef="s" targetRef="r"/><sequenceFlow id="g" sourceRef="r" targetRef="c"/></process></definitions>`;
  expect(await flawsOf(xml)).toEqual([]);
  const [process] = await readBpmn(xml);
  expect(process?.elements.get("r")).toMatchObject({ message: { name: "paid" } });
  expect(process?.elements.get("c")).toMatchObject({ called: { text: "p" } });
});

test("a lost element is found", async () => {
  expect(await flawsOf(document('<task id="t"><wonder/></task>'))).not.toEqual([]);
});
