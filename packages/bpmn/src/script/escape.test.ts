import { afterAll, describe, expect, test } from "vitest";
import { scriptEngine } from "./script-engine.ts";

/**
 * Known sandbox escapes. Each is combined with each probe, and must find nothing of the host or fail.
 */

const scripts = scriptEngine({ size: 2, limits: { timeoutMs: 2_000 } });
afterAll(() => scripts.close());

/** Expressions that may evaluate to a global object or a function of the host. */
const WAYS: readonly string[] = [
  "globalThis",
  "this",
  "(function () { return this })()",
  "(0, eval)('this')",
  "eval('globalThis')",
  "new Function('return this')()",
  "Function('return globalThis')()",
  "[].constructor.constructor('return this')()",
  "''.constructor.constructor('return this')()",
  "(1).constructor.constructor('return this')()",
  "({}).constructor.constructor('return this')()",
  "(() => {}).constructor('return this')()",
  "variables.constructor.constructor('return this')()",
  "variables.list.constructor.constructor('return this')()",
  "variables.list.map.constructor('return this')()",
  "variables.__proto__.constructor.constructor('return this')()",
  "Object.getPrototypeOf(variables).constructor.constructor('return this')()",
  "Object.getPrototypeOf(async () => {}).constructor('return this')().__proto__",
  "Object.getPrototypeOf(function* () {}).constructor('yield this')().next().value",
  "Object.getPrototypeOf(async function* () {}).constructor('yield this')()",
  "Reflect.construct(Function, ['return this'])()",
  "Reflect.apply(Function, null, ['return this'])()",
  "Reflect.getPrototypeOf(Function.prototype).constructor.constructor('return this')()",
  "new Proxy(Function, {}).call(null, 'return this')()",
  "new Proxy({}, { get: () => globalThis }).anything",
  "new Proxy(function () {}, { apply: (target, self) => self }).call(undefined) ?? globalThis",
  "(() => { try { null.x } catch (error) { return error.constructor.constructor('return this')() } })()",
  "(() => { try { JSON.parse('{') } catch (error) { return error.constructor.constructor('return this')() } })()",
  "(() => { try { eval('(') } catch (error) { return error.constructor.constructor('return this')() } })()",
  "(() => { try { decodeURIComponent('%') } catch (error) { return error.constructor.constructor('return this')() } })()",
  "(() => { const f = () => f(); try { f() } catch (error) { return error.constructor.constructor('return this')() } })()",
  "(() => { Error.prepareStackTrace = (error, sites) => sites; const sites = new Error().stack; return sites?.[0]?.getThis?.() ?? {} })()",
  "(() => { const o = {}; Error.captureStackTrace?.(o); return o.stack?.constructor.constructor('return this')() ?? {} })()",
  "(function f() { return f.caller ?? {} })()",
  "(function () { return arguments.callee?.caller ?? {} }).call({})",
  "(function () { return arguments.constructor.constructor('return this')() })()",
  "Symbol.prototype.constructor.constructor('return this')()",
  "Promise.resolve().constructor.constructor('return this')()",
  "new Map().constructor.constructor('return this')()",
  "new WeakRef({}).constructor.constructor('return this')()",
  "new FinalizationRegistry(() => {}).constructor.constructor('return this')()",
  "/x/.constructor.constructor('return this')()",
  "/x/[Symbol.replace].constructor('return this')()",
  "new Date().constructor.constructor('return this')()",
  "Date.constructor('return this')()",
  "Math.random.constructor('return this')()",
  "JSON.parse.constructor('return this')()",
  "new Uint8Array(8).buffer.constructor.constructor('return this')()",
  "(class { static #x = 1; static y() { return this } }).y().constructor('return this')()",
  "(class extends Array { constructor() { super() } }).prototype.constructor.constructor('return this')()",
  "[].flatMap.call([1], (x, i, all) => all)[0].constructor",
  "Array.from({ length: 1 }, function () { return this })[0] ?? globalThis",
  "[1].map(function () { return this }, undefined)[0] ?? globalThis",
  "'x'.replace('x', (...args) => args.length) && globalThis",
  "String({ toString() { return 'x' } }) && globalThis",
  "({ get a() { return this } }).a.constructor.constructor('return this')()",
  "({ valueOf() { return this } }).valueOf().constructor.constructor('return this')()",
  "Object.create(null, { a: { get: () => globalThis } }).a",
  "Object.getOwnPropertyDescriptor(Object.prototype, '__proto__').get.call(variables).constructor.constructor('return this')()",
  "Object.prototype.__lookupGetter__('__proto__').constructor('return this')()",
  "Object.entries(globalThis).map(([, value]) => value)[0] ?? globalThis",
  "structuredClone?.call?.constructor('return this')()",
  "typeof import('x') && globalThis",
  "[Symbol.species] && Array[Symbol.species].constructor('return this')()",
  "[].entries().__proto__.__proto__.constructor.constructor('return this')()",
  "Object.getPrototypeOf(Int8Array).constructor('return this')()",
  "new DataView(new ArrayBuffer(1)).getInt8.constructor('return this')()",
  "Reflect.ownKeys(globalThis).map((key) => globalThis[key]).find((value) => typeof value === 'function')",
  "Object.getOwnPropertySymbols(globalThis).map((key) => globalThis[key])[0] ?? globalThis",
  "Object.getOwnPropertyDescriptors(globalThis).Function.value('return this')()",
  "Reflect.get(globalThis, 'Function')('return this')()",
  "new Proxy(globalThis, {})",
  "Object.setPrototypeOf({}, globalThis)",
  "Object.create(globalThis)",
  "((strings) => strings)`x`.raw.constructor.constructor('return this')()",
  "(() => { const { constructor: { constructor: F } } = []; return F('return this')() })()",
  "(() => { let g; [2, 1].sort(function () { g = this; return 0 }); return g ?? globalThis })()",
  "(() => { let g; JSON.stringify({ a: 1 }, function (k, v) { g = this; return v }); return g.constructor.constructor('return this')() })()",
  "(() => { let g; JSON.parse('[1]', function (k, v) { g = this; return v }); return g.constructor.constructor('return this')() })()",
  "(() => { let g; 'a'.replace(/a/, function () { g = this }); return g ?? globalThis })()",
  "(() => { class A { static [Symbol.hasInstance]() { return this } } return A[Symbol.hasInstance]().constructor('return this')() })()",
  "(() => { const kept = new WeakMap(); kept.set(variables, globalThis); return kept.get(variables) })()",
  "new Error('x', { cause: globalThis }).cause",
  "new AggregateError([globalThis]).errors[0]",
];

/** Searches for host objects in `g`, the value of the expression. */
const PROBES: readonly string[] = [
  "for (const name of NAMES) { try { if (name in Object(g) || typeof g.eval?.('typeof ' + name) === 'string' && g.eval('typeof ' + name) !== 'undefined') found.push(name) } catch (error) {} }",
  "for (const name of NAMES) { try { if (Function('g', 'return typeof g.' + name)(g) !== 'undefined') found.push(name) } catch (error) {} }",
  "for (const name of NAMES) { try { const seen = g.constructor.constructor('return typeof ' + name)(); if (typeof seen === 'string' && seen !== 'undefined') found.push(name) } catch (error) {} }",
];

const NAMES = [
  ...["process", "require", "module", "exports", "Buffer", "global", "window", "self", "Deno", "Bun", "postMessage"],
  ...["parentPort", "workerData", "fetch", "XMLHttpRequest", "WebSocket", "Worker", "setTimeout", "setImmediate"],
  ...["queueMicrotask", "WebAssembly", "importScripts", "print", "scriptArgs", "std", "os", "bjson"],
  ...["performance", "navigator", "localStorage", "__dirname", "__filename", "HEAP8", "Module", "pawlCanary"],
];

/** Complete scripts that try to reach the host in other ways. */
const SCRIPTS: readonly string[] = [
  "return require('fs').readFileSync('/etc/passwd', 'utf8')",
  "return process.env",
  "return process.mainModule.require('child_process').execSync('id').toString()",
  "return process.binding('fs')",
  "return globalThis.process.exit(1)",
  "return import('fs').then((fs) => fs.readFileSync('/etc/passwd', 'utf8'))",
  "return import.meta.url",
  "return std.loadFile('/etc/passwd')",
  "return os.exec(['id'])",
  "return new WebAssembly.Memory({ initial: 1 })",
  "return new SharedArrayBuffer(8).constructor.constructor('return process')()",
  "return %GetOptimizationStatus(eval)",
  "return fetch('http://127.0.0.1/')",
  "return new Worker('x')",
  "return setTimeout(() => {}, 0)",
  "return postMessage({ kind: 'value', id: 1, json: '1' })",
  "return { toJSON() { return process.env } }",
  "return { get a() { return process } }",
  "return { then(resolve) { resolve(process) } }",
  "return new Proxy({}, { get: () => process, ownKeys: () => ['a'], getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }) })",
  "JSON.stringify = () => '{\"stolen\":true}'; return process",
  "String = () => process; throw 1",
  "Object.prototype.toJSON = function () { return process }; return {}",
  "throw { toString() { return process.env.HOME } }",
  "throw { get message() { return process } }",
  "throw new Proxy(new Error('x'), { get() { return process } })",
  "Function.prototype.call = () => process; return process",
  "Array.prototype[Symbol.iterator] = () => process; return [...[1]]",
  "Object.defineProperty(Object.prototype, 'source', { get: () => process }); return process",
  "return eval('pro' + 'cess')",
  "return Function('return pro' + 'cess')()",
  "return this.constructor.constructor('return process')()",
  "with ({}) { return process }",
  "'use strict'; return (function () { return this.process })()",
  "label: for (;;) { break label } return process",
  "return (async () => process.env)()",
  "return new (class extends Function { constructor() { super('return process') } })()()",
  "}); process.exit(1); (function () {",
  "return variables.list.__proto__.constructor.constructor('return process')()",
  "await 1; return process",
  "return Object.getPrototypeOf(process)",
  "return (0, eval)('process.env')",
  "return [].filter.constructor('return process')()",
  "return (function* () {}).constructor('yield process')().next().value",
  "return import('node:child_process')",
  "return import('data:text/javascript,export default process')",
  "import fs from 'fs'; return fs",
  "export default 1",
  "return Deno.readTextFileSync('/etc/passwd')",
  "return Bun.file('/etc/passwd')",
  "return window.document.cookie",
  "return Module._free(0)",
  'return JSON.parse(\'{"__proto__": {"polluted": true}}\').polluted',
  "variables.__proto__.polluted = true; variables.list.__proto__.polluted = true; return {}",
  "return { __proto__: { toJSON: () => process } }",
  "return new Proxy(variables, { get: () => process }).x",
  "return Promise.reject(process)",
  "throw new (class extends Error { get name() { return process.env } })()",
  "throw null",
  "throw Symbol('x')",
  "return Symbol('x')",
  "return () => process",
  "JSON.parse = () => process; return JSON.parse('1')",
  "Object.freeze = () => process; Object.getPrototypeOf = () => process; return {}",
  "Promise.prototype.then = () => process; return Promise.resolve(null)",
];

/** Scripts that try to exhaust time, memory or stack. */
const BOMBS: readonly string[] = [
  "for (;;);",
  "while (true) { try { throw 1 } catch (error) {} }",
  "for (;;) { try { for (;;); } finally { continue } }",
  "const f = () => f(); f()",
  "const f = () => { try { f() } finally { f() } }; f()",
  "const all = []; for (;;) all.push('x'.repeat(1e6))",
  "let text = 'x'; for (;;) text += text",
  "return new Array(1e9) + ''",
  "return [].concat(new Array(1e8)).sort().length",
  "return 'x'.repeat(1e9)",
  "return 'x'.padEnd(2 ** 30 - 1).length",
  "return new ArrayBuffer(2 ** 31).byteLength",
  "return new Uint8Array(1e9).length",
  "return /^(a+)+$/.test('a'.repeat(40) + 'b')",
  "return /(x+x+)+y/.test('x'.repeat(50))",
  "let a = []; for (let i = 0; i < 1e6; i += 1) a = [a]; return a",
  "const a = []; a[0] = a; return a",
  "return JSON.parse('['.repeat(1e6))",
  "return Array.from({ length: 1e9 })",
  "return 2n ** (2n ** 40n) > 0n",
  "let n = 1n; for (;;) n *= 1234567890123456789n",
  "return new Map(function* () { for (let i = 0; ; i += 1) yield [i, i] }()).size",
  "return [...function* () { for (;;) yield 1 }()]",
  "Promise.resolve().then(function again() { return Promise.resolve().then(again) }); for (;;);",
  "return eval('('.repeat(1e5))",
  "return new Function('return ' + '1+'.repeat(1e5) + '1')()",
  "const o = {}; for (let i = 0; ; i += 1) o['k' + i] = i",
  "Object.defineProperty(Array.prototype, 'length', { get() { for (;;); } }); return [1].map((x) => x)",
  "return { toJSON() { for (;;); } }",
  "throw { toString() { for (;;); } }",
  "return 'x'.repeat(1e5).split('').map(() => 'x'.repeat(1e5)).join('')",
  "return new Array(2 ** 32 - 1).fill(0)",
  "return [...'x'.repeat(1e8)].length",
  "return new Array(5e7).fill().map((x, i) => i).sort((a, b) => b - a).length",
  "return 'a'.repeat(1e6).replace(/a/g, 'b'.repeat(1e4)).length",
  "return /(a*)*b/.exec('a'.repeat(1e5))",
  "return JSON.stringify(Array.from({ length: 1e7 }, (x, i) => i)).length",
  "const o = {}; let at = o; for (let i = 0; i < 1e5; i += 1) at = at.a = {}; return o",
  "return new Proxy({}, { get(target, key, self) { return self[key] } }).x",
  "return Object.keys(new Proxy({}, { ownKeys() { for (;;); } }))",
  "return { get a() { for (;;); } }",
  "return (async () => { for (;;) await null })()",
  "const again = () => Promise.resolve().then(again); return again()",
  "for (;;) Promise.resolve().then(() => {})",
  "return new Promise(() => {})",
  "return Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)",
  "while (true) try { eval('for (;;);') } catch (error) {}",
  "class A { constructor() { return new A() } } new A()",
  "const a = []; for (;;) a.unshift(a.length)",
  "const s = new Set(); for (let i = 0; ; i += 1) s.add({ i })",
  "return (123n ** 10000000n).toString().length",
  "return String.raw({ raw: { length: 1e9 } })",
  "return Math.max(...Array(1e7).fill(1))",
  "return new RegExp('('.repeat(1e5) + ')'.repeat(1e5)).test('x')",
  "return decodeURIComponent('%41'.repeat(1e7)).length",
  "return Array.prototype.copyWithin.call({ length: 2 ** 53 - 1 }, 0, 1).length",
  "return Array.prototype.indexOf.call({ length: 2 ** 53 - 1 }, 1)",
  "return Array.prototype.includes.call({ length: 2 ** 53 - 1 }, 1)",
  "return Array.prototype.fill.call({ length: 2 ** 53 - 1 }, 1)",
  "return Array.prototype.reverse.call({ length: 2 ** 53 - 1 })",
];

const outcome = (source: string, timeoutMs = 2_000): Promise<{ value?: unknown; code?: string; text?: string }> =>
  scripts.run({ source, variables: { list: [1], secret: "s" }, timeoutMs }).then(
    (value) => ({ value }),
    (error: { code: string; message: string }) => ({ code: error.code, text: error.message }),
  );

describe("sandbox escapes", () => {
  Object.assign(globalThis, { pawlCanary: "reached" });

  test(`${WAYS.length * PROBES.length} escape payloads find nothing of the host`, async () => {
    for (const way of WAYS) {
      for (const probe of PROBES) {
        const source = `const NAMES = ${JSON.stringify(NAMES)}; const found = []; const g = ${way}; ${probe}; return found`;
        const { value, code } = await outcome(source);
        expect(value ?? [], `${way} with ${probe}: ${code}`).toEqual([]);
      }
    }
  });

  test.each(SCRIPTS)("script %s returns nothing of the host", async (source) => {
    const { value, code } = await outcome(source);
    if (code === undefined) expect(["null", "{}", '""', '"undefined"']).toContain(JSON.stringify(value));
    else expect(["SCRIPT_FAILED", "SCRIPT_LIMIT"]).toContain(code);
  });

  test("the escape scripts have not changed the host's globals", () => {
    expect(Reflect.get(globalThis, "pawlCanary")).toBe("reached");
    expect(Object.keys(Object.prototype)).toEqual([]);
    expect("toJSON" in {}).toBe(false);
  });
});

/** Counts event-loop turns of the host, which must continue while a script runs. Returns a function that stops and returns the count. */
function countTurns(): () => number {
  let turns = 0;
  let isOn = true;
  const turn = (): void => {
    turns += 1;
    if (isOn) setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    isOn = false;
    return turns;
  };
}

describe("exhausting scripts", () => {
  test.each(BOMBS)(
    "%s is stopped without blocking the host, and the next script runs",
    { timeout: 60_000 },
    async (source) => {
      const turns = countTurns();
      const { value, code, text = "" } = await outcome(source, 150);
      const turned = turns();
      // A script that ends by itself may do so within one turn.
      if (text.includes("ran longer than")) expect(turned).toBeGreaterThan(0);
      if (code === undefined) expect(JSON.stringify(value).length).toBeLessThan(1_000_001);
      else expect(["SCRIPT_FAILED", "SCRIPT_LIMIT"]).toContain(code);
      expect((await outcome("return 1")).value).toBe(1);
    },
  );
});

test("the corpus has at least 200 distinct payloads", () => {
  const all = [...WAYS, ...SCRIPTS, ...BOMBS];
  expect(new Set(all).size).toBe(all.length);
  expect(all.length).toBeGreaterThanOrEqual(200);
});
