import { CriticalError, kinds, optionTable, readArgument, readOptions } from "pawl";
import type { Job, TaskHandler } from "../program/handlers.ts";
import { systemNow } from "../runtime/system.ts";
import type { ScriptEngine } from "../script/script-engine.ts";
import { timeoutOf } from "./task-timeout.ts";

const JAVASCRIPT = /^(?:(?:text|application)\/)?(?:x-)?(?:javascript|ecmascript|js)$/i;

export interface ScriptTaskOptions {
  /** Returns the current time for `Date` in scripts; epoch ms. Default: the system clock. */
  readonly now?: () => number;
}

const OPTIONS = optionTable<ScriptTaskOptions>("scriptTasks", { now: kinds.callback });

/**
 * A handler that runs the scripts of script tasks. What a script writes to its console goes to the engine's log. Scripts do not run unless it is passed to `createBpmn`:
 * `tasks: { scriptTask: scriptTasks(engine) }`.
 */
export function scriptTasks(engine: ScriptEngine, options?: ScriptTaskOptions): TaskHandler {
  readArgument(kinds.withMethods("a script engine", "run"), engine, "engine");
  const { now = systemNow } = readOptions(OPTIONS, options);
  return async (job) => {
    const { text, format } = scriptOf(job);
    if (format !== null && !JAVASCRIPT.test(format)) {
      throw new CriticalError(`script task ${job.element.id} has a script in ${format}; only JavaScript is supported`);
    }
    const { variables, idempotencyKey } = job;
    return await engine.run({
      source: text,
      variables,
      now: now(),
      seed: seedOf(idempotencyKey),
      ...timeoutOf(job.element),
      onLine: ({ level, text }) => job.log(level, text === "" ? " " : text),
    });
  };
}

function scriptOf({ element }: Job): { readonly text: string; readonly format: string | null } {
  const script = "script" in element ? element.script : null;
  if (script === null) throw new CriticalError(`script task ${element.id} has no script`);
  return script;
}

/** A seed derived from the idempotency key, so every attempt of a script gets the same random numbers. */
function seedOf(key: string): number {
  let seed = 0;
  for (const char of key) seed = (Math.imul(seed, 31) + (char.codePointAt(0) ?? 0)) | 0;
  return seed;
}
