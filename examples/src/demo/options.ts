import { parseArgs } from "node:util";

export interface DemoOptions {
  readonly file: string;
  readonly crash: boolean;
  readonly approve: boolean;
  readonly reset: boolean;
  readonly help: boolean;
}

export const DEFAULT_FILE = ".pawl/demo.db";

export const HELP = `An order with steps, a retry, a sleep, a message and a child, on a SQLite file.

  npm run demo                  starts an order, or resumes the one that has not ended
  npm run demo -- --crash       kills its own process (SIGKILL) at a random record; start it again to resume
  npm run demo -- --no-approve  nobody approves the order: the wait times out
  npm run demo -- --reset       deletes the file and exits
  npm run demo -- --file x.db   stores the state there instead of in ${DEFAULT_FILE}
`;

/** Returns the options, or an error message. */
export function parseOptions(args: readonly string[]): DemoOptions | string {
  try {
    const { values } = parseArgs({
      args: [...args],
      options: {
        file: { type: "string" },
        crash: { type: "boolean" },
        "no-approve": { type: "boolean" },
        reset: { type: "boolean" },
        help: { type: "boolean", short: "h" },
      },
    });
    const file = values.file ?? DEFAULT_FILE;
    if (file === "") return "--file needs a name";
    return {
      file,
      crash: values.crash ?? false,
      approve: !(values["no-approve"] ?? false),
      reset: values.reset ?? false,
      help: values.help ?? false,
    };
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}
