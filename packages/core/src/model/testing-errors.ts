/** Error codes of tests of workflows, and of runs that move between stores. Part of the catalog `ERRORS`. */
export const TESTING_ERRORS = {
  RUN_WAITS: {
    status: 409,
    means: "A test awaited the result of a run that waits for something other than time.",
    fix: "Send the message or emit the event that the sentence names, or give the wait a timeout.",
  },
  STUB_UNUSED: {
    status: 422,
    means: "No step used a stub in `steps` of `testEngine`, and a step ran its own body.",
    fix: "Rename the stub to the step, or remove it. If tests share stubs, set `unusedSteps` to `allow`.",
  },
  WORKFLOW_FAULTY: {
    status: 422,
    means: "`explore` found a schedule of crashes and failures under which the workflow violates an expectation.",
    fix: "Read the story in the message; `report.findings` contains the schedules, which can be repeated.",
  },
  RUN_MOVED: {
    status: 410,
    means: "The run was moved to another store and continues there.",
    fix: "Query the store that it was moved to.",
  },
  RUN_GOES_ON: {
    status: 409,
    means: "`endExported` was called for a run that changed after its export.",
    fix: "Pause the run and its children, export and import again, then call `endExported`. Nothing was ended.",
  },
  EXPORT_INVALID: {
    status: 400,
    means: "The value is not an exported run, or was written by a later version.",
    fix: "Pass the result of `exportRun` unchanged. Nothing was imported.",
  },
} as const;
