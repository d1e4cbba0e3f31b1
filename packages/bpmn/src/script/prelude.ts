/**
 * The program that runs each script in the sandbox. It saves the built-ins it needs before the script can change them, fixes time
 * and the random seed, and returns only text.
 */
export const PRELUDE = `(function (source, variables, now, seed, outputCharsMax) {
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
  const describe = (error) => {
    try {
      return slice(text(error), 0, 500);
    } catch (ignored) {
      return "an error that cannot be converted to text";
    }
  };
  return function () {
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
})`;
