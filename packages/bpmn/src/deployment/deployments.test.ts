import type { Store } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import { documentOf, flows } from "../testing/document.ts";
import { ended, type Site, STORES, siteOf } from "../testing/site.ts";

const site = (store: Store): Promise<Site> => siteOf(store, onTestFinished);

const process = (inside: string, text: string, beside = ""): string =>
  documentOf(`<startEvent id="s"/><endEvent id="e"/>${inside}${flows(text)}`, beside);

const version = (task: string): string => process(`<userTask id="${task}"/>`, `s -> ${task}\n${task} -> e`);

describe.each(STORES)("deployments, on the store '%s'", (_name, openStore) => {
  test("a version moves from draft to published to deprecated to archived, and each state controls its starts", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    await bpmn.deploy(version("a"));
    expect(await bpmn.deploy(version("b"), { state: "draft" })).toEqual([{ process: "p", version: 2, isNew: true }]);
    await expect(bpmn.start("p", {}, { version: 2 })).rejects.toMatchObject({ code: "DEPLOYMENT_STATE" });
    const first = await bpmn.start("p");
    await world.settle();
    expect(await bpmn.view(first.id)).toMatchObject({ version: 1 });
    await expect(bpmn.deprecateVersion("p", 2)).rejects.toMatchObject({ code: "DEPLOYMENT_STATE" });
    await bpmn.publishVersion("p", 2, { by: "ann" });
    const second = await bpmn.start("p");
    await world.settle();
    expect(await bpmn.view(second.id)).toMatchObject({ version: 2 });
    await bpmn.deprecateVersion("p", 2);
    expect(await bpmn.view((await bpmn.start("p")).id)).toMatchObject({ version: 1 });
    expect(await bpmn.view((await bpmn.start("p", {}, { version: 2 })).id)).toMatchObject({ version: 2 });
    await bpmn.archiveVersion("p", 2);
    await expect(bpmn.start("p", {}, { version: 2 })).rejects.toMatchObject({ code: "DEPLOYMENT_STATE" });
    await expect(bpmn.publishVersion("p", 2)).rejects.toMatchObject({ code: "DEPLOYMENT_STATE" });
    await expect(bpmn.publishVersion("p", 9)).rejects.toMatchObject({ code: "PROCESS_NOT_FOUND" });
    const states = (await bpmn.deployments("p")).map((each) => [each.version, each.state, each.history.length]);
    expect(states).toEqual([
      [1, "published", 1],
      [2, "archived", 4],
    ]);
    await bpmn.tasks.complete(`${second.id} b/task`);
    await ended(world, second);
  });

  test.each(["utf-16le", "iso-8859-1"] as const)(
    "a document in %s is loaded by another process as it was deployed",
    async (encoding) => {
      const { open, world } = await site(await openStore(onTestFinished));
      const text = process('<userTask id="a" name="Prüfung"/>', "s -> a\na -> e").replace(
        "UTF-8",
        encoding.slice(0, 10),
      );
      const bytes = encoding === "utf-16le" ? Buffer.from(`\uFEFF${text}`, "utf16le") : Buffer.from(text, "latin1");
      const { bpmn, engine } = await open();
      await bpmn.deploy(bytes);
      await engine.shutdown();
      const other = (await open()).bpmn;
      const run = await other.start("p");
      await world.settle();
      expect((await other.tasks.list({ runId: run.id })).items).toMatchObject([{ name: "Prüfung" }]);
    },
  );

  test("only the published version starts instances by triggers, and a draft does not", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn, engine } = await open();
    const by = (task: string) =>
      documentOf(
        `<startEvent id="s"><messageEventDefinition messageRef="M"/></startEvent><userTask id="${task}"/>${flows(`s -> ${task}`)}`,
        '<message id="M" name="go"/>',
      );
    await bpmn.deploy(by("a"));
    await bpmn.deploy(by("b"), { state: "draft" });
    await world.settle();
    const startedVersions = async (): Promise<readonly number[]> => {
      await bpmn.publish("go");
      await world.advance("11 s");
      return (await engine.list({ workflow: "p" })).items.map((run) => run.version).sort();
    };
    expect(await startedVersions()).toEqual([1]);
    await bpmn.publishVersion("p", 2);
    await world.settle();
    expect(await startedVersions()).toEqual([1, 2]);
    await bpmn.deprecateVersion("p", 2);
    await world.settle();
    expect(await startedVersions()).toEqual([1, 1, 2]);
  });

  test("a process loads versions deployed elsewhere, and one of two concurrent publishes is rejected", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const one = await open();
    const two = await open();
    await one.bpmn.deploy(version("a"));
    await one.bpmn.deploy(version("b"), { state: "draft" });
    await two.bpmn.refresh();
    const both = await Promise.allSettled([one.bpmn.publishVersion("p", 2), two.bpmn.publishVersion("p", 2)]);
    expect(both.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    await two.bpmn.refresh();
    const run = await two.bpmn.start("p", {}, { id: "r" });
    await world.settle();
    expect(await two.bpmn.view(run.id)).toMatchObject({ version: 2 });
  });
});

describe.each(STORES)("migrated runs, on the store '%s'", (_name, openStore) => {
  test("a migrated run continues in the target version with its tasks, variables and timers", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn, engine } = await open({ handlers: { mail: () => ({ mailed: true }) } });
    await bpmn.deploy(version("a"));
    const run = await bpmn.start("p", { x: 1 }, { id: "r" });
    await world.settle();
    await bpmn.tasks.claim("r a/task", "ann");
    await bpmn.deploy(process('<userTask id="b"/><serviceTask id="mail"/>', "s -> b\nb -> mail\nmail -> e"));
    const dry = await bpmn.migrate(["r", "none"], 2, { dryRun: true });
    expect(dry).toMatchObject({
      migrated: 0,
      runs: [
        { outcome: "refused", from: 1, problems: [{ kind: "gone", element: "a" }], notes: [{ kind: "taskKept" }] },
        { outcome: "failed", from: null },
      ],
    });
    expect(await bpmn.migrate(["r"], 2)).toMatchObject({ migrated: 0, runs: [{ outcome: "refused" }] });
    expect(await bpmn.view("r")).toMatchObject({ version: 1 });
    expect(await bpmn.migrate(["r"], 2, { map: { a: "b" }, dryRun: true })).toMatchObject({
      runs: [{ outcome: "ready" }],
    });
    expect(await bpmn.migrate(["r"], 2, { map: { a: "b" }, by: "ops" })).toMatchObject({ migrated: 1 });
    expect(await bpmn.migrate(["r"], 2)).toMatchObject({ migrated: 0, runs: [{ outcome: "same" }] });
    await world.advance("2 s");
    expect(await bpmn.view("r")).toMatchObject({ version: 2, variables: { x: 1 }, currentNodes: [{ element: "b" }] });
    expect((await bpmn.tasks.list({ runId: "r", state: "any" })).items).toMatchObject([
      { id: "r a/task", assignee: "ann", state: "open" },
    ]);
    await bpmn.tasks.complete("r a/task", { y: 2 }, { by: "ann" });
    expect(await ended(world, run)).toEqual({ x: 1, y: 2, mailed: true });
    expect(await bpmn.migrate(["r"], 1)).toMatchObject({ runs: [{ outcome: "failed" }] });
    expect((await engine.run("r").journal())[0]).toMatchObject({
      kind: "operator",
      detail: "migrate",
      value: { by: "ops" },
    });
  });

  test("a deployment lists extensions that are not executed, and is refused for them if it is strict", async () => {
    const { open } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    const xml = version("a").replace(
      'id="a"',
      'id="a" xmlns:camunda="http://camunda.org/schema/1.0/bpmn" camunda:initiator="x"',
    );
    const ignored = [{ element: "a", extension: "camunda:initiator", line: 6 }];
    await expect(bpmn.deploy(xml, { strict: true })).rejects.toMatchObject({
      code: "MODEL_INVALID",
      problems: [{ element: "a", line: 6 }],
    });
    await expect(bpmn.deploy(xml, { strict: 1 as never })).rejects.toMatchObject({ code: "OPTION_INVALID" });
    expect(await bpmn.deployments("p")).toEqual([]);
    expect(await bpmn.deploy(xml)).toEqual([{ process: "p", version: 1, isNew: true, ignored }]);
    expect(await bpmn.deploy(version("b"), { strict: true })).toMatchObject([{ version: 2, isNew: true }]);
  });

  test("a run is not migrated if an active element changed its type or scope, or waits for a call", async () => {
    const { open, world } = await site(await openStore(onTestFinished));
    const { bpmn } = await open();
    await bpmn.deploy(version("a"));
    await bpmn.start("p", {}, { id: "r" });
    await world.settle();
    await bpmn.deploy(process('<receiveTask id="a" messageRef="M"/>', "s -> a\na -> e", '<message id="M" name="m"/>'));
    await bpmn.deploy(process(`<subProcess id="x"><userTask id="a"/></subProcess>`, "s -> x\nx -> e"));
    const kinds = async (to: number) =>
      (await bpmn.migrate(["r"], to, { dryRun: true })).runs.flatMap(({ problems }) =>
        problems.map(({ kind }) => kind),
      );
    expect(await kinds(2)).toEqual(["type"]);
    expect(await kinds(3)).toEqual(["scope"]);
    await bpmn.deploy(
      process('<callActivity id="c" calledElement="p"/>', "s -> c\nc -> e").replaceAll('id="p"', 'id="q"'),
    );
    await bpmn.deploy(
      process('<callActivity id="c" calledElement="p"/><task id="z"/>', "s -> c\nc -> z\nz -> e").replaceAll(
        'id="p"',
        'id="q"',
      ),
    );
    await bpmn.start("q", {}, { id: "caller", version: 1 });
    await world.settle();
    expect(await bpmn.migrate(["caller"], 2)).toMatchObject({
      runs: [{ outcome: "refused", problems: [{ kind: "call" }] }],
    });
  });
});
