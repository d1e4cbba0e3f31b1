/**
 * Runs in the sandbox before each script, and runs it. It keeps what it needs before the script can change it, makes time and
 * randomness the same in every run, and lets nothing but text out.
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
      return "an error that can't be told";
    }
  };
  return function () {
    try {
      const value = compile("variables", source)(parse(variables));
      if (isPromise(value)) return "!a script has to return a value, not a promise";
      const json = stringify(value === undefined ? null : value);
      if (typeof json !== "string") return "!the result is not JSON";
      return json.length > outputCharsMax ? ">" : "=" + json;
    } catch (error) {
      return "!" + describe(error);
    }
  };
})`;
