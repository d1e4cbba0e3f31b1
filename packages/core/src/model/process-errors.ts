/** Codes of what processes and decisions are made of: documents, expressions, scripts, requests. Part of the catalog. */
export const PROCESS_ERRORS = {
  MODEL_INVALID: {
    status: 400,
    means: "The process model has problems. `problems` of the error lists all of them, with element and line.",
    fix: "Mend what the problems name, and deploy the model again.",
  },
  PROCESS_NOT_FOUND: {
    status: 404,
    means: "No process of this id, or not this version of it, is deployed.",
    fix: "Check the id and the version, or deploy the model.",
  },
  PROCESS_STATE: {
    status: 409,
    means: "The process, its element or its token is not in a state in which this can be done.",
    fix: "Look at where the run is, and choose what applies there.",
  },
  BPMN_ERROR: {
    status: 422,
    means: "A BPMN error was thrown that no event of the process catches. Its code is in the details of the failure.",
    fix: "Catch the error in the model, or correct what throws it.",
  },
  INCIDENT: {
    status: 409,
    means: "An element of a process can't go on by itself.",
    fix: "Correct what the message names, then retry or skip the incident.",
  },
  DEPLOYMENT_STATE: {
    status: 409,
    means: "This version of the process is in a state in which this can't be done with it.",
    fix: "Look at the state of the version. It goes from draft to published to deprecated to archived, and back to published.",
  },
  MIGRATION_INVALID: {
    status: 409,
    means: "The run can't go on in that version. `problems` of the error lists everything that is in the way.",
    fix: "Map the elements that the problems name, or wait until the run has left them; try it with a dry run.",
  },
  TASK_NOT_FOUND: {
    status: 404,
    means: "There is no human task of this id.",
    fix: "Check the id, or whether retention has removed the task with its run.",
  },
  TASK_STATE: {
    status: 409,
    means: "The human task has ended, or somebody else has it.",
    fix: "Read the task again, and choose what applies to it.",
  },
  TASK_FORBIDDEN: {
    status: 403,
    means: "The human task is not for this user: another has it, or the user is no candidate.",
    fix: "Claim it as one of its candidates, or have it assigned or delegated.",
  },
  FORM_INVALID: {
    status: 422,
    means: "What was filled in does not fit the form of the task. `problems` of the error lists where and why.",
    fix: "Correct what the problems name, and complete the task again.",
  },
  XML_INVALID: {
    status: 400,
    means: "The text is no well-formed XML, or it has a document type, entities or an encoding that are refused.",
    fix: "Mend the line that the message names, and save the document as UTF-8 without a document type.",
  },
  XML_LIMIT: {
    status: 413,
    means: "The document is larger, deeper or has more elements than what is read.",
    fix: "Split the document.",
  },
  EXPRESSION_INVALID: {
    status: 400,
    means:
      "The text is no FEEL expression, no unary tests, or holds a condition of another language that is not understood.",
    fix: "Mend the expression at the place that the message names.",
  },
  EXPRESSION_LIMIT: {
    status: 422,
    means: "The expression needs more steps, depth or space than its budget.",
    fix: "Make the expression or its data smaller, or give it a larger budget.",
  },
  DECISION_INVALID: {
    status: 400,
    means: "The DMN model has problems; the message lists all of them.",
    fix: "Mend what the problems name, and read the model again.",
  },
  DECISION_NOT_FOUND: {
    status: 404,
    means: "The model has no decision or decision service of this name or id.",
    fix: "Check the name; the message lists the ones that there are.",
  },
  SCRIPT_FAILED: {
    status: 422,
    means: "The script threw, or gave something that is not JSON.",
    fix: "Mend the script. The message has its error.",
  },
  SCRIPT_LIMIT: {
    status: 422,
    means: "The script took more time, memory, stack or output than it may; it was ended.",
    fix: "Make the script do less, or raise its limit.",
  },
  HTTP_REFUSED: {
    status: 403,
    means: "The request would go where requests may not: a private address, another scheme or port, a redirect.",
    fix: "Use a public address, or allow this one in the configuration.",
  },
  HTTP_FAILED: {
    status: 502,
    means: "The request got no answer, or one whose status says that it failed.",
    fix: "Look at the message; try again if the other side is to be back.",
  },
  HTTP_LIMIT: {
    status: 502,
    means: "The answer is larger, or takes longer, than what is waited for and read.",
    fix: "Ask for less, or raise the limit.",
  },
} as const;
