import { describe, expect, test } from "vitest";
import { documentOf } from "../testing/document.ts";
import { MachineBench } from "../testing/machine-bench.ts";
import { readBpmn } from "./read-bpmn.ts";

/** Elements whose id the model omits, which the schema of BPMN allows. */

const NAMELESS = `<startEvent id="s"/><userTask id="a" name="Check"/><userTask id="b"/><endEvent id="e"/>
  <sequenceFlow sourceRef="s" targetRef="a"/><sequenceFlow sourceRef="a" targetRef="b"/><sequenceFlow sourceRef="b" targetRef="e"/>`;

async function idsOf(inside: string): Promise<readonly string[]> {
  const [process] = await readBpmn(documentOf(inside));
  return [...(process?.elements.keys() ?? []), ...(process?.flows.keys() ?? [])];
}

describe("elements without an id", () => {
  test("a process whose flows have no ids executes each of its tasks", async () => {
    const one = await MachineBench.of(documentOf(NAMELESS));
    expect(one.start().active).toEqual(["a"]);
    expect(one.done("a").active).toEqual(["b"]);
    expect(one.done("b").ending?.kind).toBe("completed");
  });

  test("each task of a sub-process executes when none has an id", async () => {
    const inside = '<task name="Pick it"/><userTask name="Pack it"/><userTask name="Pack it"/><userTask/>';
    const one = await MachineBench.of(
      documentOf(
        `<startEvent id="s"/><subProcess id="p1">${inside}</subProcess><sequenceFlow sourceRef="s" targetRef="p1"/>`,
      ),
    );
    expect(one.start().active).toEqual(["p1", "userTask", "userTask-Pack_it", "userTask-Pack_it-2"]);
  });

  test("a missing id is the same at every read, and differs from every id of the model", async () => {
    const inside = `${NAMELESS}<sequenceFlow id="sequenceFlow-s-a" sourceRef="a" targetRef="e"/>`;
    const ids = await idsOf(inside);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids).toContain("sequenceFlow-s-a-2");
    expect(await idsOf(inside)).toEqual(ids);
  });

  test("a problem of an element without an id names its line", async () => {
    const inside = '<startEvent id="s"/>\n<sequenceFlow sourceRef="s"/>';
    await expect(readBpmn(documentOf(inside))).rejects.toMatchObject({
      problems: [{ element: "sequenceFlow-s", line: 7 }],
    });
  });

  test("an empty id, and a process without an id, are problems", async () => {
    const empty = documentOf('<startEvent id=""/>');
    await expect(readBpmn(empty)).rejects.toThrow("line 6: the id of the startEvent is empty");
    const nameless = documentOf('<startEvent id="s"/>').replace(' id="p"', "");
    await expect(readBpmn(nameless)).rejects.toThrow("the process has no id; add one");
  });

  test("twenty thousand elements of one name without ids are read", async () => {
    expect(await idsOf(`<subProcess id="p1">${"<task/>".repeat(20_000)}</subProcess>`)).toHaveLength(20_001);
  });
});
