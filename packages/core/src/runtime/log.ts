export type LogLevel = "debug" | "info" | "warn" | "error";

/** Receives the engine's log lines, one per call. The text is constant; variables are in `fields`. */
export type Log = (level: LogLevel, text: string, fields: Readonly<Record<string, unknown>>) => void;

/** A log that never throws. A log line may be written in the middle of a commit. The error of `log` goes to the console. */
export function guardedLog(log: Log): Log {
  return (level, text, fields) => {
    try {
      log(level, text, fields);
    } catch (error) {
      console.error("pawl: the log function threw", { level, text, error });
    }
  };
}

/** Writes warnings and errors to the console, and drops other lines. */
export function consoleLog(): Log {
  return (level, text, fields) => {
    if (level === "warn" || level === "error") console[level](`pawl: ${text}`, fields);
  };
}
