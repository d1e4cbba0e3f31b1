import { PawlError } from "pawl";
import type { Json } from "../feel/json.ts";
import { ScriptPool } from "../runtime/script-pool.ts";
import { SCRIPT_LIMITS, type ScriptLimits } from "./script-job.ts";

export interface ScriptEngineOptions {
  /** Scripts that run at once; each has a thread of its own. */
  readonly size?: number;
  /** Scripts that may wait for one. */
  readonly queueMax?: number;
  readonly limits?: Partial<ScriptLimits>;
}

export interface ScriptRequest {
  /** The body of a JavaScript function: it sees `variables` and gives its result by `return`. */
  readonly source: string;
  /** JSON. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** What `Date` tells the script; epoch ms. */
  readonly now?: number;
  /** What `Math.random` begins with. */
  readonly seed?: number;
  readonly timeoutMs?: number;
}

/** Runs JavaScript in a sandbox: JSON goes in, JSON comes out, and nothing else is within reach. */
export interface ScriptEngine {
  run(request: ScriptRequest): Promise<Json>;
  close(): Promise<void>;
}

export function scriptEngine(options: ScriptEngineOptions = {}): ScriptEngine {
  const pool = new ScriptPool({ size: options.size ?? 2, queueMax: options.queueMax ?? 1_000 });
  const defaults: ScriptLimits = { ...SCRIPT_LIMITS, ...options.limits };
  let ids = 0;
  const run = async ({ source, variables, now = 0, seed = 0, timeoutMs }: ScriptRequest): Promise<Json> => {
    const limits = timeoutMs === undefined ? defaults : { ...defaults, timeoutMs };
    const input = JSON.stringify(variables);
    if (input.length + source.length > limits.inputCharsMax) {
      throw new PawlError(
        "SCRIPT_LIMIT",
        `the script and its variables have more than ${limits.inputCharsMax} characters; it was not run`,
      );
    }
    ids += 1;
    const answer = await pool.run({ id: ids, source, variables: input, now, seed, limits });
    switch (answer.kind) {
      case "value":
        return JSON.parse(answer.json, withoutPrototype) as Json;
      case "failed":
        throw new PawlError("SCRIPT_FAILED", `the script failed: ${answer.reason}`);
      case "limit":
        throw new PawlError("SCRIPT_LIMIT", `the script was ended: ${answer.reason}`);
    }
  };
  return { run, close: () => pool.close() };
}

/** `__proto__` is data in JSON, and something else to code that copies it on. */
function withoutPrototype(key: string, value: unknown): unknown {
  return key === "__proto__" ? undefined : value;
}
