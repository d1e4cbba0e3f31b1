import { builtinModule } from "./platform.ts";

/** An asynchronous context: the values that each `AsyncLocalStorage` of the process has in it. */
export interface AsyncContext {
  runInAsyncScope<Value>(call: () => Value): Value;
}

const hooks = builtinModule<typeof import("node:async_hooks")>("node:async_hooks");

/** On a platform without asynchronous contexts, a call is only a call. */
const PLAIN: AsyncContext = { runInAsyncScope: (call) => call() };

/** Without this option, the collection of each resource would be reported to the platform. */
const OPTIONS = { requireManualDestroy: true } as const;

/** The context in which no storage has a value. Workflow code starts in it. */
export const EMPTY_CONTEXT: AsyncContext = emptyContext();

/** Returns the context of the caller. `AsyncLocalStorage.snapshot` would take a hundred times as long. */
export function currentContext(): AsyncContext {
  return hooks === null ? PLAIN : new hooks.AsyncResource("pawl", OPTIONS);
}

/** A resource inherits values under symbols of the platform if this module is loaded inside a request. They are cleared. */
function emptyContext(): AsyncContext {
  const context = currentContext();
  const fields = context as unknown as Record<symbol, unknown>;
  for (const symbol of Object.getOwnPropertySymbols(fields))
    if (typeof fields[symbol] !== "number") fields[symbol] = undefined;
  return context;
}
