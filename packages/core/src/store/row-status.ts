import type { Status } from "../model/run.ts";
import type { RunHead, Tables } from "./tables.ts";

/** The status of a run that is worked on, or is to be. */
export function workingStatus({ undo }: Pick<RunHead, "undo">): Extract<Status, "running" | "compensating"> {
  return undo === "underWay" ? "compensating" : "running";
}

/** Whether its owner has it in its hands. A run that is compensating does one thing at a time, so it rests while its row has a wait. */
export function isWorking({ runs }: Pick<Tables, "runs">, head: RunHead): boolean {
  return head.status === "running" || (head.status === "compensating" && runs.wait(head) === null);
}
