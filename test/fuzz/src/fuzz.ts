import fc from "fast-check";
import { ERRORS, PawlError, type RunHandle, type Store } from "pawl";
import type { ApiGroup, Method, Skipped } from "./api.ts";
import { BPMN_API } from "./bpmn-api.ts";
import { CORE_API } from "./core-api.ts";
import { type CtxCall, canary, type FuzzedWorld, openWorld, type Refs } from "./fuzzed-world.ts";
import { build, givenAll, type Recipe } from "./recipe.ts";

/** One call of the public API, as data. */
export interface FuzzedCall {
  readonly group: string;
  readonly method: string;
  readonly args: readonly Recipe[];
}

export const GROUPS: readonly ApiGroup[] = [...CORE_API, ...BPMN_API];

/** Calls in one world. More calls find more ways in which they affect each other; fewer are faster to shrink. */
const CALLS_MAX = 200;
/** A call that takes longer hangs. The host may be busy. */
const CALL_MS_MAX = 60_000;

function isCalled(method: Method | Skipped): method is Method {
  return "args" in method;
}

const CALLS = GROUPS.flatMap(({ name, methods }) =>
  Object.entries(methods).flatMap(([method, entry]) =>
    isCalled(entry) ? [givenAll(entry.args).map((args): FuzzedCall => ({ group: name, method, args }))] : [],
  ),
);

export const BATCH = fc.array(fc.oneof(...CALLS), { minLength: 1, maxLength: CALLS_MAX, size: "max" });

/**
 * Calls every public method with all kinds of values.
 *
 * 1. Each call ends in a value, or in an error with a code of the catalog.
 * 2. The engine is not broken: runs that were started before and after the calls complete.
 * 3. Everything that was written can be read.
 * 4. There is no unhandled rejection or exception, and no log line about an internal error.
 */
export async function fuzz(options: {
  readonly calls: number;
  readonly seed: number;
  readonly connect: () => Promise<{ connect: () => Store; dispose: () => Promise<void> }>;
}): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  const rejections = new Set<unknown>();
  const onRejection = (error: unknown): void => void rejections.add(error);
  process.on("unhandledRejection", onRejection);
  process.on("uncaughtException", onRejection);
  try {
    for (let made = 0, seed = options.seed; made < options.calls; seed += 1) {
      const property = fc.asyncProperty(BATCH, async (calls) => {
        const { connect, dispose } = await options.connect();
        try {
          const outcomes = await callAll(connect, calls);
          for (const outcome of outcomes) counts[outcome] = (counts[outcome] ?? 0) + 1;
          made += calls.length;
        } finally {
          await dispose();
        }
        if (rejections.size > 0) {
          const texts = [...rejections].map(described);
          rejections.clear();
          throw new Error(`unhandled: ${texts.join("; ")}`);
        }
      });
      await fc.assert(property, { seed, numRuns: 1, endOnFailure: false });
    }
  } finally {
    process.off("unhandledRejection", onRejection);
    process.off("uncaughtException", onRejection);
  }
  return counts;
}

/** Makes calls in a new world, at the same time. Returns how they ended. */
export async function callAll(connect: () => Store, calls: readonly FuzzedCall[]): Promise<readonly string[]> {
  const outcomes: string[] = [];
  const wrong: string[] = [];
  const pending: Promise<void>[] = [];
  const judge = (where: string, outcome: Promise<unknown>): Promise<void> =>
    outcome.then(
      () => void outcomes.push("value"),
      (error: unknown) => {
        const code = codeOf(error, where.startsWith("ctx."));
        if (code === null) wrong.push(`${where} ended with ${described(error)}`);
        outcomes.push(code ?? "wrong");
      },
    );
  const world = await openWorld(connect, (call, outcome) => void judge(`ctx.${call.method}`, outcome));
  try {
    const before = await world.engine.start(canary, 1);
    const beforeResult = before.result();
    const waiting: Promise<void>[] = [];
    for (const call of calls) {
      const method = methodOf(call);
      const outcome = judge(`${call.group}.${call.method}`, inTime(call, method, makeCall(world, call, method)));
      (method.waits === true ? waiting : pending).push(outcome);
    }
    await Promise.all(pending);
    const after = await world.engine.start(canary, 2);
    await expectResult(beforeResult, 3, "the run that was started before the calls");
    await expectResult(after.result(), 5, "the run that was started after the calls");
    await readAll(world);
    await world.close();
    await Promise.all(waiting);
  } catch (error) {
    wrong.push(`the engine did not survive: ${described(error)}`);
    await world.close().catch((again: unknown) => wrong.push(`close: ${described(again)}`));
  }
  wrong.push(...world.log.filter((line) => INTERNAL.test(line)));
  if (wrong.length > 0) throw new Error([...new Set(wrong)].join("\n"));
  return outcomes;
}

/** Log lines that no argument may cause. */
const INTERNAL = /^error (broken|engine stopped|event listener threw|unhandled rejection|could not)/;

function methodOf({ group, method }: FuzzedCall): Method {
  const entry = GROUPS.find(({ name }) => name === group)?.methods[method];
  if (entry === undefined || !isCalled(entry)) throw new Error(`${group}.${method} is not called`);
  return entry;
}

async function makeCall(world: FuzzedWorld, { group, method, args }: FuzzedCall, entry: Method): Promise<unknown> {
  const { inWorkflow = false, target } = GROUPS.find(({ name }) => name === group) as ApiGroup;
  if (inWorkflow) return await startInWorkflow(world, { method, args });
  const made = refOf(world.refs, entry.target ?? target);
  // Awaited only if it is a promise: a handle is no promise, and its methods must not be called as one.
  const object = (made instanceof Promise ? await made : made) as Record<
    string,
    (...all: readonly unknown[]) => unknown
  >;
  const built = args.map((recipe) => build(recipe, world.refs));
  const value = await object[method]?.(...built);
  if (isIterator(value)) for await (const _ of value) break;
  const close = entry.close === undefined ? undefined : (value as Record<string, () => Promise<void>>)[entry.close];
  await close?.call(value);
  return undefined;
}

async function startInWorkflow(world: FuzzedWorld, call: CtxCall): Promise<RunHandle> {
  return await world.startCalls([call]);
}

function refOf(refs: Refs, name: string): unknown {
  const make = refs[name];
  if (make === undefined) throw new Error(`the fuzzed world has no ${name}`);
  return make();
}

function isIterator(value: unknown): value is AsyncIterable<unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

async function inTime(call: FuzzedCall, { waits }: Method, outcome: Promise<unknown>): Promise<unknown> {
  if (waits === true) return await outcome;
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise((_, reject) => {
    const text = `${call.group}.${call.method} did not end in ${CALL_MS_MAX / 1000} s`;
    timer = setTimeout(() => reject(new Error(text)), CALL_MS_MAX);
  });
  return await Promise.race([outcome, late]).finally(() => clearTimeout(timer));
}

async function expectResult(result: Promise<number>, expected: number, what: string): Promise<void> {
  const value = await result;
  if (value !== expected) throw new Error(`${what} returned ${value}, not ${expected}`);
}

/** What the calls have written is decoded by these. */
async function readAll({ engine }: FuzzedWorld): Promise<void> {
  const { items } = await engine.list({ limit: 1_000 });
  for (const { id } of items) {
    await engine.run(id).journal();
    await engine.explain(id);
  }
  await engine.deadLetters.list({ limit: 1_000 });
  await engine.documents.list({ kind: "kind", limit: 1_000 });
}

/** The code of the catalog that an error has. Null if it has none. Workflow code gets recorded errors, which have a code and no class. */
function codeOf(error: unknown, isRecorded: boolean): string | null {
  if (!(isRecorded ? error instanceof Error : error instanceof PawlError)) return null;
  const { code } = error as { readonly code?: unknown };
  if (typeof code !== "string" || !Object.hasOwn(ERRORS, code)) return null;
  // An engine that stopped by itself is what this looks for.
  return code === "ENGINE_BROKEN" ? null : code;
}

function described(error: unknown): string {
  if (error instanceof PawlError) return `${error.code}: ${error.message} ${error.stack ?? ""}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
