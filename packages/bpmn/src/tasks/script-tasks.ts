import { CriticalError } from "pawl";
import type { Job, TaskHandler } from "../program/handlers.ts";
import { systemNow } from "../runtime/system.ts";
import type { ScriptEngine } from "../script/script-engine.ts";

const JAVASCRIPT = /^(?:(?:text|application)\/)?(?:x-)?(?:javascript|ecmascript|js)$/i;

export interface ScriptTaskOptions {
  /** What `Date` tells scripts; epoch ms. The machine's time unless said otherwise. */
  readonly now?: () => number;
}

/**
 * A handler that runs the scripts of script tasks. Scripts are off until it is given to `createBpmn`, as
 * `tasks: { scriptTask: scriptTasks(engine) }`.
 */
export function scriptTasks(engine: ScriptEngine, { now = systemNow }: ScriptTaskOptions = {}): TaskHandler {
  return async (job) => {
    const { text, format } = scriptOf(job);
    if (format !== null && !JAVASCRIPT.test(format)) {
      throw new CriticalError(`${job.element.id} has a script in ${format}; only JavaScript is run`);
    }
    const { variables, idempotencyKey } = job;
    return await engine.run({ source: text, variables, now: now(), seed: seedOf(idempotencyKey) });
  };
}

function scriptOf({ element }: Job): { readonly text: string; readonly format: string | null } {
  const script = "script" in element ? element.script : null;
  if (script === null) throw new CriticalError(`${element.id} has no script`);
  return script;
}

/** The same for every try of the same element, so that a script that is tried again draws the same lots. */
function seedOf(key: string): number {
  let seed = 0;
  for (const char of key) seed = (Math.imul(seed, 31) + (char.codePointAt(0) ?? 0)) | 0;
  return seed;
}
