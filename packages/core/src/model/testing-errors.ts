/** What tests of workflows, and runs that are moved between stores, are refused with. */
export const TESTING_ERRORS = {
  RUN_WAITS: {
    status: 409,
    means: "A test asked for the result of a run that waits for something which no time brings.",
    fix: "Send the message or emit the event that the sentence names, or give the wait a timeout.",
  },
  WORKFLOW_FAULTY: {
    status: 422,
    means: "`explore` found that a workflow does not keep to what it should when something goes wrong.",
    fix: "Read the story in the message; `report.findings` holds the schedules, which can be played again.",
  },
  EXPORT_INVALID: {
    status: 400,
    means: "What was given as an exported run is none, or was written by a later version.",
    fix: "Give what `exportRun` gave, unchanged. Nothing was imported.",
  },
} as const;
