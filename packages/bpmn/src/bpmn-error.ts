/**
 * Throw it in the handler of a task to raise a BPMN error: the model decides what happens, by the nearest error event that
 * catches its code. Anything else that a handler throws is a technical failure, which is retried and ends in an incident.
 */
export class BpmnError extends Error {
  override readonly name = "BpmnError";
  readonly code: string;
  /** Given to the event that catches the error. */
  readonly variables: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string = code, variables: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.variables = variables;
  }
}
