import type { QuickJSContext, QuickJSHandle, QuickJSWASMModule } from "quickjs-emscripten-core";
import type { ScriptJob, ScriptResult } from "../script/script-job.ts";

/** The arguments of the worker's program. */
interface SandboxHost {
  readonly load: (specifier: string) => unknown;
  readonly prelude: string;
  readonly receive: (listener: (job: ScriptJob) => void) => void;
  readonly answer: (answer: ScriptResult | SandboxReady) => void;
}

/** The worker has loaded QuickJS. From now on only the script takes time. */
export interface SandboxReady {
  readonly kind: "ready";
}

interface Core {
  readonly newVariant: (variant: unknown, options: { readonly wasmMemory: unknown }) => unknown;
  readonly newQuickJSWASMModuleFromVariant: (variant: unknown) => Promise<QuickJSWASMModule>;
}

/**
 * The program of a worker thread. It is sent as text, so it works from the sources and from the published build. These functions
 * must use only each other and their arguments.
 *
 * Each script gets its own QuickJS runtime. The scripts of a worker share the WebAssembly module; after an error in it, the worker
 * is not used again.
 */
function sandboxWorker({ load, prelude, receive, answer }: SandboxHost): void {
  const module = loadEngine(load);
  module.then(
    () => answer({ kind: "ready" }),
    () => process.exit(1),
  );
  receive((job) => {
    void module.then((quickjs) => {
      try {
        answer(runInSandbox(job, quickjs, prelude));
      } catch (error) {
        const reason = `sandbox error: ${error instanceof Error ? error.name : "unknown"}`;
        answer({ kind: "limit", id: job.id, reason, isBroken: true });
      }
    });
  });
}

function loadEngine(load: SandboxHost["load"]): Promise<QuickJSWASMModule> {
  const core = load("quickjs-emscripten-core") as Core;
  const loaded = load("@jitl/quickjs-wasmfile-release-sync") as { readonly default?: unknown };
  const wasm = globalThis as unknown as {
    readonly WebAssembly: {
      readonly Memory: new (size: { readonly initial: number; readonly maximum: number }) => unknown;
    };
  };
  const wasmMemory = new wasm.WebAssembly.Memory({ initial: 256, maximum: 768 });
  return core.newQuickJSWASMModuleFromVariant(core.newVariant(loaded.default ?? loaded, { wasmMemory }));
}

function runInSandbox(job: ScriptJob, quickjs: QuickJSWASMModule, prelude: string): ScriptResult {
  const { limits, id } = job;
  const runtime = quickjs.newRuntime();
  runtime.setMemoryLimit(limits.memoryBytesMax);
  runtime.setMaxStackSize(limits.stackBytesMax);
  const context = runtime.newContext();
  const begin = prepareScript(context, prelude, job);
  let isLate = false;
  // The deadline excludes the setup above.
  const deadline = Date.now() + limits.timeoutMs;
  runtime.setInterruptHandler(() => {
    isLate = Date.now() > deadline;
    return isLate;
  });
  const result = context.callFunction(begin, context.undefined);
  if (isLate) return { kind: "limit", id, reason: `it ran longer than ${limits.timeoutMs} ms`, isBroken: true };
  if (result.error !== undefined) {
    return { kind: "limit", id, reason: "memory or stack limit exceeded", isBroken: true };
  }
  const text = context.getString(result.value);
  for (const handle of [result.value, begin, context, runtime]) handle.dispose();
  return scriptResult(text, job);
}

function prepareScript(context: QuickJSContext, prelude: string, job: ScriptJob): QuickJSHandle {
  const make = context.unwrapResult(context.evalCode(prelude, "prelude.js"));
  const args = [
    context.newString(job.source),
    context.newString(job.variables),
    context.newNumber(job.now),
    context.newNumber(job.seed),
    context.newNumber(job.limits.outputCharsMax),
    context.newNumber(job.linesMax),
  ];
  const begin = context.unwrapResult(context.callFunction(make, context.undefined, ...args));
  for (const handle of [make, ...args]) handle.dispose();
  return begin;
}

function scriptResult(all: string, { id, limits }: ScriptJob): ScriptResult {
  const end = all.indexOf("\n");
  const written = JSON.parse(all.slice(0, end)) as ReadonlyArray<readonly ["info" | "warn" | "error", string]>;
  const lines = written.map(([level, text]) => ({ level, text }));
  const text = all.slice(end + 1);
  const body = text.slice(1);
  if (text.startsWith("=")) return { kind: "value", id, json: body, lines };
  if (text.startsWith(">")) {
    const reason = `result has more than ${limits.outputCharsMax} characters`;
    return { kind: "limit", id, reason, isBroken: false };
  }
  const isLimit = /^InternalError: (?:out of memory|stack overflow)/.test(body);
  return isLimit ? { kind: "limit", id, reason: body, isBroken: false } : { kind: "failed", id, reason: body, lines };
}

/** The program as text: an expression whose value is `sandboxWorker`. */
export const SANDBOX_PROGRAM: string = `(() => {
${[loadEngine, runInSandbox, prepareScript, scriptResult, sandboxWorker].map(String).join("\n")}
return sandboxWorker;
})()`;
