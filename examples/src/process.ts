import { BpmnError, createBpmn } from "@pawl/bpmn";
import { createEngine, memoryStore } from "pawl";

/** A service checks a claim. If the service cannot decide, a human task does. */
const claim = `<?xml version="1.0"?>
<definitions xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:insurance">
  <error id="unclear" errorCode="UNCLEAR"/>
  <process id="claim" isExecutable="true">
    <startEvent id="came"/>
    <sequenceFlow id="f1" sourceRef="came" targetRef="check"/>
    <serviceTask id="check"/>
    <sequenceFlow id="f2" sourceRef="check" targetRef="pay"/>
    <boundaryEvent id="undecided" attachedToRef="check"><errorEventDefinition errorRef="unclear"/></boundaryEvent>
    <sequenceFlow id="f3" sourceRef="undecided" targetRef="decide"/>
    <userTask id="decide" name="Decide on the claim"/>
    <sequenceFlow id="f4" sourceRef="decide" targetRef="pay"/>
    <serviceTask id="pay"/>
    <sequenceFlow id="f5" sourceRef="pay" targetRef="done"/>
    <endEvent id="done"/>
  </process>
</definitions>`;

const engine = await createEngine({ store: memoryStore() });
const bpmn = await createBpmn({
  engine,
  handlers: {
    check: ({ variables }) => {
      if (Number(variables.amount) > 1_000) throw new BpmnError("UNCLEAR");
      return { granted: variables.amount };
    },
    pay: ({ variables }) => ({ paid: variables.granted }),
  },
});
await bpmn.deploy(claim);

const small = await bpmn.start("claim", { amount: 200 });
console.log(`small: paid ${(await small.result()).paid}`);

const large = await bpmn.start("claim", { amount: 5_000 }, { id: "large" });
while ((await large.status()) !== "suspended") await new Promise((resolve) => setTimeout(resolve, 5));
const { tasks } = await bpmn.view("large");
for (const { location, name } of tasks) {
  console.log(`large: waits for "${name}"`);
  await bpmn.completeTask("large", location, { granted: 4_000 });
}
console.log(`large: paid ${(await large.result()).paid}`);
await engine.shutdown();
