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
  RUN_MOVED: {
    status: 410,
    means: "The run was moved to another store, where it goes on: this is where it was.",
    fix: "Ask the store that it was moved to.",
  },
  RUN_GOES_ON: {
    status: 409,
    means: "A run was to be ended where it was exported from, and something has happened to it since.",
    fix: "Pause the run and those that it started, export it and import it again, then end it. Nothing was ended.",
  },
  EXPORT_INVALID: {
    status: 400,
    means: "What was given as an exported run is none, or was written by a later version.",
    fix: "Give what `exportRun` gave, unchanged. Nothing was imported.",
  },
} as const;
