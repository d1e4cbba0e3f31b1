import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Store } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import { humanTasks, problemsOf } from "../index.ts";
import { documentOf, flows } from "../testing/document.ts";
import { ended, type Site, STORES, siteOf } from "../testing/site.ts";

const site = (store: Store): Promise<Site> => siteOf(store, onTestFinished);

const zeebe = (inside: string, id = "p", extensions = ""): string =>
  documentOf(`${extensions}<startEvent id="s"/>${inside}<endEvent id="e"/>${flows("s -> a\na -> e")}`)
    .replace('xmlns:pawl="urn:pawl:bpmn"', 'xmlns:zeebe="http://camunda.org/schema/zeebe/1.0"')
    .replace('id="p"', `id="${id}"`);
const deciding = (binding = ""): string =>
  zeebe(
    `<businessRuleTask id="a"><extensionElements><zeebe:calledDecision decisionId="rate" resultVariable="rate" ${binding}/></extensionElements></businessRuleTask>`,
  );
const asking = (binding = ""): string =>
  zeebe(
    `<userTask id="a"><extensionElements><zeebe:userTask/><zeebe:formDefinition formId="ask" ${binding}/></extensionElements></userTask>`,
  );
const calling = (binding: string): string =>
  zeebe(
    `<callActivity id="a"><extensionElements><zeebe:calledElement processId="q" ${binding}/></extensionElements></callActivity>`,
  );
const called = (value: number, tag = ""): string =>
  zeebe(
    `<scriptTask id="a"><extensionElements><zeebe:script expression="=${value}" resultVariable="got"/></extensionElements></scriptTask>`,
    "q",
    tag === "" ? "" : `<extensionElements><zeebe:versionTag value="${tag}"/></extensionElements>`,
  );

const decisions = (value: string, tag = "", imports = ""): string =>
  `<definitions xmlns="https://www.omg.org/spec/DMN/20230324/MODEL/" xmlns:zeebe="http://camunda.org/schema/zeebe/1.0" id="rates" name="rates" namespace="urn:rates">${imports}
   <decision id="rate" name="The rate">${tag === "" ? "" : `<extensionElements><zeebe:versionTag value="${tag}"/></extensionElements>`}<variable name="The rate"/>
   ${imports === "" ? "" : '<informationRequirement><requiredDecision href="urn:base#base"/></informationRequirement>'}<literalExpression><text>${value}</text></literalExpression></decision></definitions>`;
const base = (value: string): string =>
  `<definitions xmlns="https://www.omg.org/spec/DMN/20230324/MODEL/" id="bases" name="bases" namespace="urn:base"><decision id="base" name="base"><variable name="base"/><literalExpression><text>${value}</text></literalExpression></decision></definitions>`;
const IMPORT =
  '<import namespace="urn:base" name="b" locationURI="base.dmn" importType="https://www.omg.org/spec/DMN/20230324/MODEL/"/>';

const form = (max: number, tag?: string): string =>
  JSON.stringify({
    id: "ask",
    versionTag: tag,
    components: [{ type: "number", key: "n", validate: { required: true, max } }],
  });
const file = (name: string, content: string) => ({ name, content });

describe.each(STORES)("deployed decisions and forms, on the store '%s'", (_name, openStore) => {
  test("a decision is deployed in versions, and a business rule task evaluates the latest one", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    await bpmn.deploy(deciding());
    const run = await bpmn.start("p");
    await world.settle();
    expect((await bpmn.view(run.id)).incidents).toMatchObject([
      { kind: "noHandler", message: "a needs decision rate, which is not deployed; deploy its model" },
    ]);
    const model = { type: "decisions", id: "rates", versionTag: null };
    const first = await bpmn.deployFiles([file("r.dmn", decisions("1"))]);
    expect(first).toEqual({ processes: [], resources: [{ ...model, version: 1, isNew: true }] });
    await bpmn.operate.retryIncidents([run.id]);
    expect(await ended(world, run)).toEqual({ rate: 1 });
    expect((await bpmn.deployFiles([file("r.dmn", decisions("1"))])).resources).toMatchObject([
      { version: 1, isNew: false },
    ]);
    await world.advance("1 s");
    expect((await bpmn.deployFiles([file("r.dmn", decisions("2"))])).resources).toMatchObject([
      { version: 2, isNew: true },
    ]);
    const { bpmn: other } = await open();
    expect(await ended(world, await other.start("p"))).toEqual({ rate: 2 });
    expect((await other.resources("decisions", "rates")).map(({ version }) => version)).toEqual([1, 2]);
    const { bpmn: own } = await open({ tasks: { businessRuleTask: () => 9 } });
    expect(await ended(world, await own.start("p"))).toEqual({ rate: expect.anything() });
  });

  test("a binding selects the version of its deployment, or the latest one with a version tag", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    await bpmn.deployFiles([file("r.dmn", decisions("1", "stable"))]);
    await bpmn.deploy(deciding('bindingType="versionTag" versionTag="stable"'));
    const bound = [file("p.bpmn", deciding('bindingType="deployment"').replace('id="p"', 'id="bound"'))];
    expect(await bpmn.deployFiles([...bound, file("r.dmn", decisions("2"))])).toMatchObject({
      processes: [{ process: "bound", version: 1, isNew: true }],
      resources: [{ version: 2 }],
    });
    await world.advance("1 s");
    await bpmn.deployFiles([file("r.dmn", decisions("3"))]);
    expect(await ended(world, await bpmn.start("p"))).toEqual({ rate: 1 });
    expect(await ended(world, await bpmn.start("bound"))).toEqual({ rate: 2 });
    // The same process with another decision is another version.
    expect((await bpmn.deployFiles([...bound, file("r.dmn", decisions("3"))])).processes).toMatchObject([
      { version: 2 },
    ]);
    expect((await bpmn.deployFiles([...bound, file("r.dmn", decisions("3"))])).processes).toMatchObject([
      { isNew: false },
    ]);
    expect(await ended(world, await bpmn.start("bound"))).toEqual({ rate: 3 });
    expect(await ended(world, await bpmn.start("bound", {}, { version: 1 }))).toEqual({ rate: 2 });
    await bpmn.deploy(deciding('bindingType="versionTag" versionTag="other"'));
    const run = await bpmn.start("p");
    await world.settle();
    expect((await bpmn.view(run.id)).incidents[0]?.message).toContain("rate with version tag other");
  });

  test("a task is checked against the form that is deployed, in the version of its binding, also from a client", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn, engine } = await open();
    await bpmn.deployFiles([file("p.bpmn", asking('bindingType="deployment"')), file("ask.form", form(10, "v1"))]);
    await bpmn.deployFiles([file("ask.form", form(20))]);
    await bpmn.deploy(asking().replace('id="p"', 'id="q"'));
    await bpmn.deploy(asking('bindingType="versionTag" versionTag="v1"').replace('id="p"', 'id="t"'));
    for (const process of ["p", "q", "t"]) await bpmn.start(process, {}, { id: process });
    await world.settle();
    const tasks = humanTasks({ engine });
    const outcomes: unknown[] = [];
    for (const run of ["p", "q", "t"])
      outcomes.push(
        await tasks.complete(`${run} a/task`, { n: 15 }).then(
          () => "ok",
          (error) => error.code,
        ),
      );
    expect(outcomes).toEqual(["FORM_INVALID", "ok", "FORM_INVALID"]);
    expect(await tasks.form("p a/task")).toMatchObject({ properties: { n: { maximum: 10 } }, required: ["n"] });
    await bpmn.tasks.complete("p a/task", { n: 9 });
    expect(await ended(world, engine.run("p"))).toEqual({ n: 9 });
  });

  test("a process is started only with variables that fit the deployed form of its start event", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    const xml = zeebe('<manualTask id="a"/>').replace(
      '<startEvent id="s"/>',
      '<startEvent id="s"><extensionElements><zeebe:formDefinition formId="ask"/></extensionElements></startEvent>',
    );
    await bpmn.deploy(xml, { strict: true });
    expect(await ended(world, await bpmn.start("p", { n: 99 }))).toEqual({ n: 99 });
    await bpmn.deployFiles([file("ask.form", form(10))]);
    await expect(bpmn.start("p", { n: 11 })).rejects.toMatchObject({ code: "FORM_INVALID" });
    expect(await ended(world, await bpmn.start("p", { n: 9 }))).toEqual({ n: 9 });
  });

  test("a call uses the process of its deployment, or the latest one with a version tag", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    await bpmn.deployFiles([file("p.bpmn", calling('bindingType="deployment"')), file("q.bpmn", called(1, "old"))]);
    await bpmn.deploy(called(2));
    await bpmn.deploy(calling('bindingType="versionTag" versionTag="old"').replace('id="p"', 'id="t"'));
    await bpmn.deploy(calling("").replace('id="p"', 'id="l"'));
    const values: unknown[] = [];
    for (const process of ["p", "t", "l"]) values.push(await ended(world, await bpmn.start(process)));
    expect(values).toEqual([{ got: 1 }, { got: 1 }, { got: 2 }]);
  });

  test("a deployment that lacks what it is bound to, or has a flawed file, deploys nothing", async () => {
    const { open } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    const good = file("q.bpmn", called(1));
    const bad = [
      [[good, file("p.bpmn", deciding('bindingType="deployment"'))], "rate is bound to its deployment"],
      [[good, file("p.bpmn", asking('bindingType="deployment"'))], "ask is bound to its deployment"],
      [[good, file("r.dmn", decisions("1 +"))], "1 +"],
      [[good, file("ask.form", "{")], "not valid JSON"],
      [[good, file("ask.form", '{"type":"object","typ":1}')], "keyword typ is not supported"],
      [
        [good, file("r.dmn", decisions("b.base", "", '<import namespace="urn:base" name="b"/>'))],
        "no file of the deployment has the namespace urn:base",
      ],
      [[good, file("p.bpmn", "<html/>")], "the root element is <html>"],
    ] as const;
    for (const [files, text] of bad) {
      const error = await bpmn.deployFiles(files).catch((caught: unknown) => caught);
      expect(
        problemsOf(error)
          .map((problem) => problem.text)
          .join(),
      ).toContain(text);
    }
    await expect(bpmn.deploy(calling('bindingType="deployment"'))).rejects.toMatchObject({ code: "MODEL_INVALID" });
    await expect(bpmn.deployFiles([file("x.bpmn", "<a")])).rejects.toThrow("x.bpmn: invalid XML");
    for (const wrong of ["r.dmn", [{ name: "x", contents: "" }], [1]])
      await expect(bpmn.deployFiles(wrong as never)).rejects.toMatchObject({ code: "OPTION_INVALID" });
    expect(await bpmn.deployments("q")).toEqual([]);
    expect(await bpmn.resources("decisions", "rates")).toEqual([]);
  });

  test("concurrent deployments of a decision get different versions", async () => {
    const { open } = await site(await openStore(onTestFinished));
    const [one, two] = [await open(), await open()];
    const made = await Promise.all([
      one.bpmn.deployFiles([file("r.dmn", decisions("1"))]),
      two.bpmn.deployFiles([file("r.dmn", decisions("2"))]),
      two.bpmn.deployFiles([file("r.dmn", decisions("2"))]),
    ]);
    const versions = made.flatMap(({ resources }) => resources.map(({ version }) => version));
    expect(new Set(versions)).toEqual(new Set([1, 2]));
    expect(versions[1]).toBe(versions[2]);
  });

  test("files are read from disk with the models that they import, or by a resolver", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    const folder = await mkdtemp(join(tmpdir(), "pawl-files-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, "models"));
    const importing = decisions("b.base * 2", "", IMPORT);
    await writeFile(join(folder, "models", "r.dmn"), importing);
    await writeFile(join(folder, "models", "base.dmn"), base("4"));
    await writeFile(join(folder, "p.bpmn"), deciding());
    await bpmn.deployFiles([join(folder, "p.bpmn"), join(folder, "models", "r.dmn")]);
    expect(await ended(world, await bpmn.start("p"))).toEqual({ rate: 8 });
    await world.advance("1 s");
    const asked: unknown[] = [];
    const resolve = (name: string, from: string | null): string => {
      asked.push([name, from]);
      return name === "x/r.dmn" ? importing : base("5");
    };
    await bpmn.deployFiles(["x/r.dmn"], { resolve });
    expect(asked).toEqual([
      ["x/r.dmn", null],
      ["x/base.dmn", "x/r.dmn"],
    ]);
    expect(await ended(world, await bpmn.start("p"))).toEqual({ rate: 10 });
    await writeFile(join(folder, "models", "out.dmn"), importing.replace("base.dmn", "../../secret.dmn"));
    await expect(bpmn.deployFiles([join(folder, "models", "out.dmn")])).rejects.toThrow("which is not in its folder");
    await expect(bpmn.deployFiles([join(folder, "none.dmn")])).rejects.toMatchObject({ code: "MODEL_INVALID" });
  });
});
