export { BpmnError } from "./bpmn-error.ts";
export { decide } from "./dmn/decide.ts";
export type { DecisionModel, DecisionProblem } from "./dmn/model.ts";
export { type DecisionSource, inspectDecisions, readDecisions } from "./dmn/read-decisions.ts";
export type { FeelBudget, FeelWorld } from "./feel/evaluation.ts";
export { checkFeel, evaluateFeel, type FeelOptions, type FeelResult, testFeel } from "./feel/feel.ts";
export type { Json } from "./feel/json.ts";
export { temporal } from "./feel/temporal-literal.ts";
export type { FeelValue } from "./feel/value.ts";
export {
  type ScriptEngine,
  type ScriptEngineOptions,
  type ScriptRequest,
  scriptEngine,
} from "./script/script-engine.ts";
export type { ScriptLimits } from "./script/script-job.ts";
export { readXml } from "./xml/read-xml.ts";
export type { XmlElement, XmlLimits } from "./xml/xml-element.ts";
