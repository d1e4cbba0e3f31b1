import { memoryStore } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import { problemsOf } from "../index.ts";
import { documentOf, flows } from "../testing/document.ts";
import { ended, siteOf } from "../testing/site.ts";

const OWN = 'xmlns:pawl="urn:pawl:bpmn"';

function model(namespace: string, inside: string): string {
  const around = `<startEvent id="s"/><endEvent id="e"/>${inside}${flows("s -> a\na -> e")}`;
  return documentOf(around).replace(OWN, namespace);
}

const formData = (fields: string): string =>
  model(
    'xmlns:camunda="http://camunda.org/schema/1.0/bpmn"',
    `<userTask id="a"><extensionElements><camunda:formData>${fields}</camunda:formData></extensionElements></userTask>`,
  );

const camundaForm = (components: unknown, key = "camunda-forms:bpmn:F"): string =>
  model(
    'xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"',
    `<extensionElements><zeebe:userTaskForm id="F">${JSON.stringify({ components, type: "default" })}</zeebe:userTaskForm></extensionElements>
     <userTask id="a"><extensionElements><zeebe:userTask/><zeebe:formDefinition formKey="${key}"/></extensionElements></userTask>`,
  );

const FIELDS = `<camunda:formField id="cents" label="Amount" type="long" defaultValue="5">
    <camunda:validation><camunda:constraint name="required"/><camunda:constraint name="min" config="1"/><camunda:constraint name="max" config="900"/></camunda:validation></camunda:formField>
  <camunda:formField id="who" type="string" defaultValue="#{asker}"><camunda:validation><camunda:constraint name="maxlength" config="5"/></camunda:validation></camunda:formField>
  <camunda:formField id="size" type="enum"><camunda:value id="s" name="Small"/><camunda:value id="l" name="Large"/></camunda:formField>
  <camunda:formField id="ok" type="boolean"><camunda:validation><camunda:constraint name="required"/></camunda:validation></camunda:formField>
  <camunda:formField id="on" type="date" defaultValue="24/12/2026"/>`;

async function waiting(xml: string, variables = {}) {
  const { open, world } = await siteOf(memoryStore(), onTestFinished);
  const { bpmn } = await open();
  const [deployed] = await bpmn.deploy(xml);
  const run = await bpmn.start("p", variables, { id: "r" });
  await world.settle();
  return { bpmn, deployed, result: () => ended(world, run), task: "r a/task" };
}

describe("forms in a model", () => {
  test("form fields of Camunda 7 check types, required fields, limits and choices", async () => {
    const { bpmn, deployed, task } = await waiting(formData(FIELDS), { asker: "ann" });
    expect(deployed).not.toHaveProperty("ignored");
    const wrong = { cents: 1_000, who: "too long", size: "m", on: "soon" };
    await expect(bpmn.tasks.complete(task, wrong)).rejects.toMatchObject({
      code: "FORM_INVALID",
      problems: [
        { path: "/ok", text: "is required" },
        { path: "/cents", text: "must be at most 900" },
        { path: "/who", text: "must have at most 5 characters" },
        { path: "/size", text: 'must be one of ["s","l"]' },
        { path: "/on", text: "must be a valid date" },
      ],
    });
    await expect(bpmn.tasks.complete(task, { cents: "5", ok: true })).rejects.toMatchObject({
      problems: [{ path: "/cents", text: "must be integer" }],
    });
  });

  test("a field that is not filled in gets its default, which may be computed when the task is created", async () => {
    const { bpmn, result, task } = await waiting(formData(FIELDS), { asker: "ann" });
    expect((await bpmn.tasks.get(task)).form).toMatchObject({
      schema: {
        properties: { cents: { title: "Amount", default: 5 }, who: { default: "ann" }, size: { enum: ["s", "l"] } },
      },
    });
    await bpmn.tasks.complete(task, { ok: false, size: "l" });
    expect(await result()).toEqual({ asker: "ann", ok: false, size: "l", cents: 5, who: "ann", on: "2026-12-24" });
  });

  test("a constraint that is not checked is listed, and a default of another type is a problem", async () => {
    const own = `<camunda:formField id="x" type="long"><camunda:validation><camunda:constraint name="validator" config="com.Check"/><camunda:constraint name="min" config="#{least}"/></camunda:validation></camunda:formField>`;
    const { deployed } = await waiting(formData(own));
    expect(deployed?.ignored).toMatchObject([
      { element: "a", extension: "form field x validator" },
      { element: "a", extension: "form field x min" },
    ]);
    for (const [fields, text] of [
      ['<camunda:formField id="x" type="long" defaultValue="many"/>', /default of form field x is "many"/],
      ['<camunda:formField type="long"/>', /a form field has no id/],
      ['<camunda:formField id="x" defaultValue="#{1 +}"/>', /1 \+/],
    ] as const) {
      const error = await waiting(formData(fields)).catch((caught: unknown) => caught);
      expect(
        problemsOf(error)
          .map(({ element, text: found }) => `${element} ${found}`)
          .join(),
      ).toMatch(text);
    }
  });

  test("a form of Camunda in the process checks what is filled in", async () => {
    const xml = camundaForm([
      { type: "text", text: "# Order" },
      { type: "textfield", key: "name", label: "Name", validate: { required: true, maxLength: 5 } },
      { type: "number", key: "price", decimalDigits: 0, defaultValue: 3, validate: { min: 1, max: 9 } },
      { type: "checkbox", key: "agreed", validate: { required: true } },
      {
        type: "select",
        key: "address.country",
        values: [
          { label: "Austria", value: "at" },
          { label: "Peru", value: "pe" },
        ],
      },
      { type: "taglist", key: "tags", valuesKey: "known" },
      { type: "datetime", subtype: "date", key: "day" },
      { type: "textfield", key: "vat", conditional: { hide: "=not(agreed)" }, validate: { required: true } },
      {
        type: "dynamiclist",
        path: "lines",
        components: [{ type: "number", key: "qty", validate: { required: true } }],
      },
      { type: "button", key: "send" },
    ]);
    const { bpmn, deployed, result, task } = await waiting(xml);
    expect(deployed).not.toHaveProperty("ignored");
    const wrong = { name: "", price: 3.5, agreed: false, address: { country: "de" }, day: "x", lines: [{}] };
    const problems = ["/name", "/price", "/agreed", "/address/country", "/day", "/lines/0/qty"];
    await expect(bpmn.tasks.complete(task, wrong)).rejects.toMatchObject({
      problems: problems.map((path) => ({ path })),
    });
    await bpmn.tasks.complete(task, {
      name: "ann",
      agreed: true,
      day: null,
      address: { country: "at" },
      lines: [{ qty: 1 }],
    });
    expect(await result()).toMatchObject({ name: "ann", price: 3, address: { country: "at" } });
  });

  test("a form that is not in the process, is no JSON or has no components is a problem", async () => {
    for (const [xml, text] of [
      [camundaForm([], "camunda-forms:bpmn:G"), "form G is not in the process; add it, or correct the formKey"],
      [camundaForm({}), "form F cannot be used: a form must be an object with components"],
      [camundaForm([]).replace('{"components"', "{components"), "form F is not valid JSON; correct it"],
      [camundaForm([{ type: "dynamiclist" }]), "form F cannot be used: a dynamic list of a form needs a path"],
      [
        camundaForm([{ type: "textfield", key: "x", validate: { pattern: "(" } }]),
        "form schema /properties/x/pattern: the pattern is not a valid regular expression",
      ],
    ] as const) {
      const error = await waiting(xml).catch((caught: unknown) => caught);
      expect(problemsOf(error)).toMatchObject([{ element: "a", text }]);
    }
  });

  test("a limit of a form that is an expression is listed", async () => {
    const { deployed } = await waiting(camundaForm([{ type: "number", key: "n", validate: { max: "=most" } }]));
    expect(deployed?.ignored).toMatchObject([{ element: "a", extension: "form field n max" }]);
  });

  test("field names that objects have by themselves are plain fields", async () => {
    const named = camundaForm([
      { type: "number", key: "__proto__.x" },
      { type: "number", key: "constructor" },
    ]);
    const { bpmn, task } = await waiting(named);
    const given = JSON.parse('{"__proto__":{"x":"a"},"constructor":"b"}') as Record<string, unknown>;
    await expect(bpmn.tasks.complete(task, given)).rejects.toMatchObject({
      problems: [{ path: "/__proto__/x" }, { path: "/constructor" }],
    });
  });
});
