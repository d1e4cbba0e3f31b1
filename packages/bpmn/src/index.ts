export { BpmnError } from "./bpmn-error.ts";
