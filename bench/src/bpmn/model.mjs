/** The measured models. */

export const TASKS = 10;

const ids = Array.from({ length: TASKS }, (_, i) => `task${i}`);
const nodes = ["start", ...ids, "end"];

/** Ten service tasks in sequence, in a form that both engines read. */
export const TEN_TASKS = documentOf(
  "ten",
  `<startEvent id="start"/>
${ids.map((id) => `<serviceTask id="${id}" implementation="\${environment.services.work}"/>`).join("\n")}
<endEvent id="end"/>
${nodes
  .slice(1)
  .map((id, i) => flow(nodes[i], id))
  .join("\n")}`,
);

/** A parallel service task for each item of `list`. */
export const EACH_ITEM = documentOf(
  "each",
  `<dataObject id="list" name="list"/>
<startEvent id="start"/>
<serviceTask id="work">
  <multiInstanceLoopCharacteristics>
    <loopDataInputRef>list</loopDataInputRef>
    <inputDataItem id="item" name="item"/>
  </multiInstanceLoopCharacteristics>
</serviceTask>
<endEvent id="end"/>
${flow("start", "work")}
${flow("work", "end")}`,
);

/** A service task that repeats until `n` is `rounds`, then a user task. */
export const REPEATED_TASK = documentOf(
  "circle",
  `<startEvent id="start"/>
<serviceTask id="work"/>
<exclusiveGateway id="again" default="on"/>
<userTask id="rest"/>
<endEvent id="end"/>
${flow("start", "work")}
${flow("work", "again")}
<sequenceFlow id="back" sourceRef="again" targetRef="work"><conditionExpression>n &lt; rounds</conditionExpression></sequenceFlow>
<sequenceFlow id="on" sourceRef="again" targetRef="rest"/>
${flow("rest", "end")}`,
);

/** @param {string} source @param {string} target */
function flow(source, target) {
  return `<sequenceFlow id="${source}-${target}" sourceRef="${source}" targetRef="${target}"/>`;
}

/** @param {string} id @param {string} inside */
function documentOf(id, inside) {
  return `<?xml version="1.0" encoding="UTF-8"?>
<definitions id="${id}-model" xmlns="http://www.omg.org/spec/BPMN/20100524/MODEL" targetNamespace="urn:bench">
<process id="${id}" isExecutable="true">
${inside}
</process>
</definitions>`;
}
