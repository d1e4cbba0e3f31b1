import { type LintNode, type LintRule, lintRule } from "./lint-node.ts";
import { reached, type World } from "./reached.ts";
import { WorkflowCode } from "./workflow-code.ts";

/** What differs from replay to replay, or has effects in each, by what is to be used instead. */

const ALL: ReadonlySet<string> = new Set(["*"]);

const CLOCK: World = {
  globals: new Set([
    "new Date",
    "Date.now",
    "performance.now",
    "performance.timeOrigin",
    "process.hrtime",
    "process.uptime",
    "Temporal.Now",
  ]),
  modules: new Map([
    ["perf_hooks", ALL],
    ["process", new Set(["hrtime", "uptime"])],
  ]),
};

const RANDOM_NAMES = ["randomUUID", "randomBytes", "randomInt", "randomFill", "randomFillSync", "getRandomValues"];

const RANDOM: World = {
  globals: new Set(["Math.random", "crypto.randomUUID", "crypto.getRandomValues"]),
  modules: new Map([
    ["crypto", new Set(RANDOM_NAMES)],
    ["uuid", ALL],
    ["nanoid", ALL],
  ]),
};

const TIMERS: World = {
  globals: new Set(["setTimeout", "setInterval", "setImmediate", "requestAnimationFrame", "AbortSignal.timeout"]),
  modules: new Map([
    ["timers", ALL],
    ["timers/promises", ALL],
  ]),
};

const EFFECT_MODULES =
  "fs fs/promises child_process http https http2 net tls dgram dns dns/promises worker_threads cluster readline " +
  "readline/promises sqlite inspector repl os";
const PROCESS_NAMES = ["env", "argv", "cwd", "pid", "exit", "kill", "memoryUsage", "stdin", "stdout", "stderr"];

const EFFECTS: World = {
  globals: new Set([
    ...["fetch", "XMLHttpRequest", "WebSocket", "EventSource", "indexedDB", "localStorage", "sessionStorage"],
    ...["Deno", "Bun", "navigator"],
    ...PROCESS_NAMES.map((name) => `process.${name}`),
  ]),
  modules: new Map([
    ...EFFECT_MODULES.split(" ").map((module): [string, ReadonlySet<string>] => [module, ALL]),
    ["process", new Set(PROCESS_NAMES)],
  ]),
};

function noReachingOut(description: string, world: World, instead: string): LintRule {
  const messages = { reaches: `{{ name }} in a workflow is not the same in every replay: ${instead}` };
  return lintRule(description, messages, (context) => {
    const code = new WorkflowCode(context);
    const look = (node: LintNode): void => {
      const name = reached(context, node, world);
      if (name !== null && code.isReplayed(node)) context.report({ node, messageId: "reaches", data: { name } });
    };
    return { Identifier: look, ImportExpression: look, CallExpression: look };
  });
}

export const noClock = noReachingOut(
  "A workflow asks for the time with ctx.now(), which is the same in every replay",
  CLOCK,
  "use ctx.now(), or read it in a step",
);

export const noRandom = noReachingOut(
  "A workflow gets randomness from ctx.random() and ctx.uuid(), which are the same in every replay",
  RANDOM,
  "use ctx.random() or ctx.uuid(), or make it in a step",
);

export const noTimers = noReachingOut(
  "A workflow waits with ctx.sleep(), which outlives the process",
  TIMERS,
  "use ctx.sleep(), or wait in a step",
);

export const noEffects = noReachingOut(
  "A workflow reads and changes what is outside of it in steps only",
  EFFECTS,
  "do it in a step, whose result is kept",
);
