import { guardArguments, kinds, optionTable, PawlError, readOptions } from "pawl";
import type { Json } from "../feel/json.ts";
import { ScriptPool } from "../runtime/script-pool.ts";
import { SCRIPT_LIMITS, SCRIPT_LINES_MAX, type ScriptLimits, type ScriptLine } from "./script-job.ts";

export interface ScriptEngineOptions {
  /** Scripts that run at the same time, each in its own thread. Default 2. */
  readonly size?: number;
  /** Scripts that may wait for a free thread. Default 1,000. */
  readonly queueMax?: number;
  readonly limits?: Partial<ScriptLimits>;
}

export interface ScriptRequest {
  /** The body of a JavaScript function. It reads `variables` and returns its result with `return`. */
  readonly source: string;
  /** Must be JSON. */
  readonly variables: Readonly<Record<string, unknown>>;
  /** The current time for `Date`; epoch ms. Default 0. */
  readonly now?: number;
  /** The seed of `Math.random`. Default 0. */
  readonly seed?: number;
  readonly timeoutMs?: number;
  /**
   * Receives each line that the script has written to its console, after it has ended: at most 100, of at most 1,000 characters. A script that was
   * stopped has none.
   */
  readonly onLine?: (line: ScriptLine) => void;
}

/** Runs JavaScript in a sandbox. Only JSON goes in and out; a script reaches nothing of the host. */
export interface ScriptEngine {
  run(request: ScriptRequest): Promise<Json>;
  close(): Promise<void>;
}

const TIMEOUT_MS_MAX = 2 ** 31 - 1;
const THREADS_MAX = 1_000;

const OPTIONS = optionTable<ScriptEngineOptions>("scriptEngine", {
  size: kinds.integer(1, THREADS_MAX),
  queueMax: kinds.integer(0),
  limits: kinds.options(
    optionTable<Partial<ScriptLimits>>("limits", {
      timeoutMs: kinds.integer(1, TIMEOUT_MS_MAX),
      memoryBytesMax: kinds.integer(1),
      stackBytesMax: kinds.integer(1, SCRIPT_LIMITS.stackBytesMax),
      inputCharsMax: kinds.integer(1),
      outputCharsMax: kinds.integer(1),
    }),
  ),
});
const REQUEST = optionTable<ScriptRequest>("the script", {
  source: kinds.required(kinds.text),
  variables: kinds.required(kinds.map(kinds.value)),
  now: kinds.number(-Number.MAX_VALUE, Number.MAX_VALUE),
  seed: kinds.number(-Number.MAX_VALUE, Number.MAX_VALUE),
  timeoutMs: kinds.integer(1, TIMEOUT_MS_MAX),
  onLine: kinds.callback,
});

export function scriptEngine(given?: ScriptEngineOptions): ScriptEngine {
  const options = readOptions(OPTIONS, given);
  const pool = new ScriptPool({ size: options.size ?? 2, queueMax: options.queueMax ?? 1_000 });
  const defaults: ScriptLimits = { ...SCRIPT_LIMITS, ...options.limits };
  let ids = 0;
  const run = async (request: ScriptRequest): Promise<Json> => {
    const { source, variables, now = 0, seed = 0, timeoutMs, onLine } = readOptions(REQUEST, request);
    const limits = timeoutMs === undefined ? defaults : { ...defaults, timeoutMs };
    const input = guardArguments("variables", () => JSON.stringify(variables));
    if (input.length + source.length > limits.inputCharsMax) {
      throw new PawlError(
        "SCRIPT_LIMIT",
        `script and variables have more than ${limits.inputCharsMax} characters; pass fewer variables, or raise inputCharsMax`,
      );
    }
    ids += 1;
    const answer = await pool.run({ id: ids, source, variables: input, now, seed, limits, linesMax: SCRIPT_LINES_MAX });
    if (onLine !== undefined && "lines" in answer) for (const line of answer.lines) onLine(line);
    switch (answer.kind) {
      case "value":
        return JSON.parse(answer.json, withoutPrototype) as Json;
      case "failed":
        throw new PawlError("SCRIPT_FAILED", `script failed: ${answer.reason}`);
      case "limit":
        throw new PawlError("SCRIPT_LIMIT", `script was stopped: ${answer.reason}`);
    }
  };
  return { run, close: () => pool.close() };
}

/** Removes `__proto__`: it is data in JSON, but changes the prototype in code that copies it. */
function withoutPrototype(key: string, value: unknown): unknown {
  return key === "__proto__" ? undefined : value;
}
