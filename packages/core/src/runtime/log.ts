export type LogLevel = "debug" | "info" | "warn" | "error";

/** Receives the engine's log lines, one per call. The text is constant; variables are in `fields`. */
export type Log = (level: LogLevel, text: string, fields: Readonly<Record<string, unknown>>) => void;

/** Writes warnings and errors to the console, and drops other lines. */
export function consoleLog(): Log {
  return (level, text, fields) => {
    if (level === "warn" || level === "error") console[level](`pawl: ${text}`, fields);
  };
}
