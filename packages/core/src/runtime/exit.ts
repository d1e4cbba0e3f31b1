import { nodeProcess } from "./platform.ts";

/** Ends the process with this exit code. Does nothing on a platform without processes. */
export function exitProcess(code: number): void {
  nodeProcess?.exit(code);
}
