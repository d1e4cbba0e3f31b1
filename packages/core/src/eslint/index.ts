import { awaitCtx } from "./await-ctx.ts";
import { noClock, noEffects, noRandom, noTimers } from "./determinism-rules.ts";
import type { LintRule } from "./lint-node.ts";
import { noCtxInStep } from "./no-ctx-in-step.ts";
import { ownCtx } from "./own-ctx.ts";
import { uniqueNames } from "./unique-names.ts";

export type { LintContext, LintListener, LintNode, LintRule, LintScope, LintVariable } from "./lint-node.ts";

/** The rules of the ESLint plugin. */
export const rules = {
  "await-ctx": awaitCtx,
  "no-clock": noClock,
  "no-ctx-in-step": noCtxInStep,
  "no-effects": noEffects,
  "no-random": noRandom,
  "no-timers": noTimers,
  "own-ctx": ownCtx,
  "unique-names": uniqueNames,
} as const satisfies Readonly<Record<string, LintRule>>;

export const plugin = { meta: { name: "pawl" }, rules };

/** All rules as errors, for a flat configuration. */
export const recommended = {
  name: "pawl/recommended",
  plugins: { pawl: plugin },
  rules: {
    "pawl/await-ctx": "error",
    "pawl/no-clock": "error",
    "pawl/no-ctx-in-step": "error",
    "pawl/no-effects": "error",
    "pawl/no-random": "error",
    "pawl/no-timers": "error",
    "pawl/own-ctx": "error",
    "pawl/unique-names": "error",
  },
} as const;
