/**
 * Throw it in a task handler to raise a BPMN error. The nearest error event that catches its code handles it. Any other error of
 * a handler is a technical failure: it is retried, and then becomes an incident.
 */
export class BpmnError extends Error {
  override readonly name = "BpmnError";
  readonly code: string;
  /** The variables for the event that catches the error. */
  readonly variables: Readonly<Record<string, unknown>>;

  constructor(code: string, message: string = code, variables: Readonly<Record<string, unknown>> = {}) {
    super(message);
    this.code = code;
    this.variables = variables;
  }
}
