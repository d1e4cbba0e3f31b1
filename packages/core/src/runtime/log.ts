export type LogLevel = "debug" | "info" | "warn" | "error";

/** Where the engine says what it does. One call is one line; `fields` are data, never part of the text. */
export type Log = (level: LogLevel, text: string, fields: Readonly<Record<string, unknown>>) => void;

/** Warnings and errors to the console, the rest to nobody. */
export function consoleLog(): Log {
  return (level, text, fields) => {
    if (level === "warn" || level === "error") console[level](`pawl: ${text}`, fields);
  };
}
