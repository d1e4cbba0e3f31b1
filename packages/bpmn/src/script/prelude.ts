/**
 * The program that runs each script in the sandbox. It saves the built-ins it needs before the script can change them, fixes time
 * and the random seed, and returns only text: the lines that the script has written to its console, and its result.
 */
export const PRELUDE = `(function (source, variables, now, seed, outputCharsMax, linesMax) {
  "use strict";
  const { parse, stringify } = JSON;
  const text = String;
  const slice = Function.prototype.call.bind(String.prototype.slice);
  const compile = Function;
  const isPromise = (value) => value instanceof Promise;
  const Real = Date;
  const fixed = class Date extends Real {
    constructor(...args) {
      if (args.length === 0) super(now);
      else super(...args);
    }
    static now() {
      return now;
    }
  };
  globalThis.Date = new Proxy(fixed, { apply: () => new fixed().toString() });
  let state = seed | 0;
  Math.random = () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
  // Lines are one text, because a script can change what arrays do.
  let lines = "";
  let lineCount = 0;
  const shown = (value) => {
    if (typeof value === "string") return value;
    try {
      const json = stringify(value);
      return typeof json === "string" ? json : text(value);
    } catch (ignored) {
      return describe(value);
    }
  };
  const line = (level) => (...values) => {
    lineCount += 1;
    if (lineCount > linesMax) return;
    let all = "";
    for (let i = 0; i < values.length; i += 1) all += (i === 0 ? "" : " ") + shown(values[i]);
    lines += (lineCount === 1 ? "" : ",") + "[" + stringify(level) + "," + stringify(slice(all, 0, 1000)) + "]";
  };
  const log = line("info");
  globalThis.console = { log, info: log, debug: log, warn: line("warn"), error: line("error") };
  const describe = (error) => {
    try {
      return slice(text(error), 0, 500);
    } catch (ignored) {
      return "an error that cannot be converted to text";
    }
  };
  const execute = () => {
    try {
      const value = compile("variables", source)(parse(variables));
      if (isPromise(value)) return "!the script returned a promise; return a value";
      const json = stringify(value === undefined ? null : value);
      if (typeof json !== "string") return "!the result is not JSON; return JSON";
      return json.length > outputCharsMax ? ">" : "=" + json;
    } catch (error) {
      return "!" + describe(error);
    }
  };
  return function () {
    const result = execute();
    return "[" + lines + "]\\n" + result;
  };
})`;
