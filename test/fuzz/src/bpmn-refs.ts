import * as bpmn from "@pawl/bpmn";
import type { Engine } from "pawl";

const GRAPH = {
  id: "approval",
  nodes: [
    { id: "start", type: "startProcess" },
    { id: "ask", type: "userTask", data: { label: "Approve" } },
    { id: "end", type: "endProcess" },
  ],
  connections: [
    { source: "start", target: "ask" },
    { source: "ask", target: "end" },
  ],
};

const BPMN = `<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:fuzz">
  <process id="approval" isExecutable="true">
    <startEvent id="start"/><userTask id="ask"/><endEvent id="end"/>
    <sequenceFlow id="a" sourceRef="start" targetRef="ask"/><sequenceFlow id="b" sourceRef="ask" targetRef="end"/>
  </process>
</definitions>`;

const DMN = `<definitions xmlns="https://www.omg.org/spec/DMN/20230324/MODEL/" name="fuzz" namespace="urn:fuzz">
  <inputData id="amount" name="amount"><variable name="amount"/></inputData>
  <decision id="d" name="d"><variable name="d"/>
    <informationRequirement><requiredInput href="#amount"/></informationRequirement>
    <literalExpression><text>amount + 1</text></literalExpression>
  </decision>
</definitions>`;

const MODEL = bpmn.readDecisions(DMN);

/** A deployed process with a run that waits for a task. `close` ends the threads for scripts. */
export async function bpmnRefs(
  engine: Engine,
): Promise<{ readonly refs: Record<string, () => unknown>; readonly close: () => Promise<void> }> {
  const site = await bpmn.createBpmn({ engine });
  await site.deploy(GRAPH);
  const run = await site.start("approval", { amount: 1 });
  const view = await waitingView(site, run.id);
  const { items } = await site.tasks.list();
  const client = bpmn.httpClient({ trustedHosts: ["127.0.0.1:1"], resolve: async () => ["127.0.0.1"] });
  const scripts = bpmn.scriptEngine({ size: 1 });
  const refs = {
    bpmn: () => site,
    operate: () => site.operate,
    tasks: () => site.tasks,
    "id of a process run": () => run.id,
    "row of the user task": () => view.currentNodes[0]?.row,
    "location of a task": () => view.tasks[0]?.location,
    "id of a task": () => items[0]?.id,
    graph: () => structuredClone(GRAPH),
    "BPMN document": () => BPMN,
    "DMN document": () => DMN,
    "decision model": () => MODEL,
    now: () => () => 1_700_000_000_000,
    "new id": () => () => "n",
    "HTTP client": () => client,
    "script engine": () => scripts,
    "spare script engine": () => bpmn.scriptEngine({ size: 1 }),
    "module @pawl/bpmn": () => bpmn,
  };
  return { refs, close: () => scripts.close() };
}

/** Reads the run until its task is open. */
async function waitingView(site: bpmn.Bpmn, runId: string): Promise<bpmn.ProcessView> {
  for (;;) {
    const view = await site.view(runId);
    if (view.tasks.length > 0) return view;
    await new Promise((resolve) => setImmediate(resolve));
  }
}
