import { createEngine, memoryStore } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import { createBpmn } from "../index.ts";
import { documentOf, flows } from "../testing/document.ts";
import { problemsOf } from "./problem.ts";

/** References of a document to something that it does not contain. */

async function deploy(xml: string) {
  const engine = await createEngine({ store: memoryStore(), log: () => undefined });
  onTestFinished(() => engine.shutdown());
  return await (await createBpmn({ engine })).deploy(xml);
}

const model = (beside = "", inside = ""): string =>
  documentOf(`<startEvent id="s"/><task id="a"/>${inside}${flows("s -> a")}`, beside);
const diagram = `<d:BPMNDiagram xmlns:d="http://www.omg.org/spec/BPMN/20100524/DI" id="D"><d:BPMNPlane id="P" bpmnElement="p">
  <d:BPMNShape id="X" bpmnElement="gone"/></d:BPMNPlane></d:BPMNDiagram>`;

describe("references that are not found", () => {
  test.each([
    [
      "a shape of an element that is gone",
      model().replace("</definitions>", `${diagram}</definitions>`),
      "X",
      "bpmnElement refers to gone",
    ],
    [
      "a message of an operation in another document",
      model(
        '<interface id="i" name="i"><operation id="o" name="o"><inMessageRef>other:m</inMessageRef><outMessageRef>other:n</outMessageRef></operation></interface>',
      ),
      "o",
      "outMessageRef refers to other:n",
    ],
    [
      "an error of a definition that nothing uses",
      model(
        '<globalUserTask id="g"><ioSpecification id="io"><inputSet id="is"><dataInputRefs>gone</dataInputRefs></inputSet><outputSet/></ioSpecification></globalUserTask>',
      ),
      "is",
      "dataInputRefs refers to gone",
    ],
    [
      "a process that is not executable",
      model(
        '<process id="q"><startEvent id="t"><signalEventDefinition id="sd" signalRef="gone"/></startEvent></process>',
      ),
      "sd",
      "signalRef refers to gone",
    ],
  ])("a reference that is not executed is a warning of the deployment: %s", async (_, xml, element, text) => {
    const [deployed] = await deploy(xml);
    expect(deployed).toMatchObject({ process: "p", isNew: true });
    expect(deployed?.warnings).toContainEqual({
      element,
      line: null,
      text: `${text}, which was not found; correct the reference`,
    });
  });

  test.each([
    [
      "of an event",
      model(
        "",
        '<boundaryEvent id="x" attachedToRef="a"><errorEventDefinition id="ed" errorRef="gone"/></boundaryEvent>',
      ),
      "errorRef refers to gone",
    ],
    [
      "of a definition that an event uses",
      model(
        '<signal id="S" name="x"/><timerEventDefinition id="T"/>',
        '<boundaryEvent id="x" attachedToRef="a"><eventDefinitionRef>gone</eventDefinitionRef><signalEventDefinition signalRef="S"/></boundaryEvent>',
      ),
      "eventDefinitionRef refers to gone",
    ],
  ])("a reference that is executed is a problem: %s", async (_, xml, text) => {
    const problems = problemsOf(await deploy(xml).catch((error: unknown) => error));
    expect(problems).toContainEqual(expect.objectContaining({ text: expect.stringContaining(text) }));
  });
});

test("the id of an extension element may be the id of an element", async () => {
  const extended =
    '<task id="b"><extensionElements><pawl:property id="a"/><o:field xmlns:o="urn:other" id="b"/><o:field xmlns:o="urn:other" id="b"/></extensionElements></task>';
  const [deployed] = await deploy(
    documentOf(`<startEvent id="s"/><task id="a"/>${extended}${flows("s -> a\na -> b")}`),
  );
  expect(deployed).toMatchObject({ process: "p", version: 1, isNew: true });
  expect(deployed).not.toHaveProperty("warnings");
});
