/** Error codes of processes, decisions, expressions, scripts and requests. Part of the catalog `ERRORS`. */
export const PROCESS_ERRORS = {
  MODEL_INVALID: {
    status: 400,
    means: "The process model has problems. `problems` of the error lists each with its element and line.",
    fix: "Fix the listed problems and deploy the model again.",
  },
  PROCESS_NOT_FOUND: {
    status: 404,
    means: "No process with this id and version is deployed.",
    fix: "Check the id and the version, or deploy the model.",
  },
  PROCESS_STATE: {
    status: 409,
    means: "The action does not apply to the current state of the process, its element or its token.",
    fix: "Read the state of the run, and choose an action that applies.",
  },
  BPMN_ERROR: {
    status: 422,
    means: "A BPMN error was thrown that no event of the process catches. The details of the failure contain its code.",
    fix: "Catch the error in the model, or fix its cause.",
  },
  INCIDENT: {
    status: 409,
    means: "An element of a process failed and waits for an operator.",
    fix: "Fix the cause that the message names, then retry or skip the incident.",
  },
  DEPLOYMENT_STATE: {
    status: 409,
    means: "The action does not apply to the current state of this process version.",
    fix: "Read the state of the version. It changes from draft to published to deprecated to archived, and back to published.",
  },
  MIGRATION_INVALID: {
    status: 409,
    means: "The run cannot continue in that version. `problems` of the error lists the reasons.",
    fix: "Map the elements that the problems name, or wait until the run has left them. A dry run shows the problems.",
  },
  TASK_NOT_FOUND: {
    status: 404,
    means: "No human task has this id.",
    fix: "Check the id, or whether retention has removed the task with its run.",
  },
  TASK_STATE: {
    status: 409,
    means: "The human task has ended, or another user has claimed it.",
    fix: "Read the task again, and choose an action that applies.",
  },
  TASK_FORBIDDEN: {
    status: 403,
    means: "The human task is not for this user: another user has it, or the user is not a candidate.",
    fix: "Claim it as one of its candidates, or have it assigned or delegated.",
  },
  FORM_INVALID: {
    status: 422,
    means: "The submitted values do not match the form of the task. `problems` of the error lists each with its field.",
    fix: "Correct the values that the problems name, and complete the task again.",
  },
  XML_INVALID: {
    status: 400,
    means: "The text is not well-formed XML, or it has a document type, entities or an encoding that is not allowed.",
    fix: "Fix the line that the message names, and save the document as UTF-8 without a document type.",
  },
  XML_LIMIT: {
    status: 413,
    means: "The document exceeds the limit of size, depth or number of elements.",
    fix: "Split the document.",
  },
  EXPRESSION_INVALID: {
    status: 400,
    means: "The text is not a valid FEEL expression or unary test, or it is a condition in an unsupported language.",
    fix: "Fix the expression at the position that the message names.",
  },
  EXPRESSION_LIMIT: {
    status: 422,
    means: "The evaluation needs more steps, depth or space than its budget.",
    fix: "Make the expression or its data smaller, or give it a larger budget.",
  },
  DECISION_INVALID: {
    status: 400,
    means: "The DMN model has problems; the message lists all of them.",
    fix: "Fix the listed problems and read the model again.",
  },
  DECISION_NOT_FOUND: {
    status: 404,
    means: "The model has no decision or decision service with this name or id.",
    fix: "Check the name; the message lists the available ones.",
  },
  SCRIPT_FAILED: {
    status: 422,
    means: "The script threw, or returned a value that is not JSON.",
    fix: "Fix the script. The message contains its error.",
  },
  SCRIPT_LIMIT: {
    status: 422,
    means: "The script exceeded its limit of time, memory, stack or output and was stopped.",
    fix: "Make the script do less, or raise its limit.",
  },
  HTTP_REFUSED: {
    status: 403,
    means: "The request has a target that is not allowed: a private address, another scheme or port, or a redirect.",
    fix: "Use a public address, or allow this one in the configuration.",
  },
  HTTP_FAILED: {
    status: 502,
    means: "The request got no response, or a response with a status that means failure.",
    fix: "Read the message; retry if the failure is temporary.",
  },
  HTTP_LIMIT: {
    status: 502,
    means: "The response exceeded the limit of size or time.",
    fix: "Request less data, or raise the limit.",
  },
} as const;
