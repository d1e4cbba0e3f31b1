import { type LintNode, type LintRule, lintRule } from "./lint-node.ts";
import { type OutsideNames, outsideAccess } from "./outside-access.ts";
import { WorkflowCode } from "./workflow-code.ts";

// Functions whose results differ between replays, or that have effects in each replay, grouped by their replacement.

const ALL: ReadonlySet<string> = new Set(["*"]);

const CLOCK: OutsideNames = {
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

const RANDOM: OutsideNames = {
  globals: new Set(["Math.random", "crypto.randomUUID", "crypto.getRandomValues"]),
  modules: new Map([
    ["crypto", new Set(RANDOM_NAMES)],
    ["uuid", ALL],
    ["nanoid", ALL],
  ]),
};

const TIMERS: OutsideNames = {
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

const EFFECTS: OutsideNames = {
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

function noOutsideAccess(description: string, outside: OutsideNames, instead: string): LintRule {
  const messages = { outside: `{{ name }} in a workflow differs between replays: ${instead}` };
  return lintRule(description, messages, (context) => {
    const code = new WorkflowCode(context);
    const check = (node: LintNode): void => {
      const name = outsideAccess(context, node, outside);
      if (name !== null && code.isReplayed(node)) context.report({ node, messageId: "outside", data: { name } });
    };
    return { Identifier: check, ImportExpression: check, CallExpression: check };
  });
}

export const noClock = noOutsideAccess(
  "A workflow must read the time with ctx.now(), which returns the same in every replay",
  CLOCK,
  "use ctx.now(), or read it in a step",
);

export const noRandom = noOutsideAccess(
  "A workflow must use ctx.random() and ctx.uuid(), which return the same in every replay",
  RANDOM,
  "use ctx.random() or ctx.uuid(), or create it in a step",
);

export const noTimers = noOutsideAccess(
  "A workflow must wait with ctx.sleep(), which survives the process",
  TIMERS,
  "use ctx.sleep(), or wait in a step",
);

export const noEffects = noOutsideAccess(
  "A workflow must access the outside world only in steps",
  EFFECTS,
  "call it in a step, whose result is recorded",
);
