import { body, file, type RuleCases, typed } from "./cases.ts";

/** Cases of the rules against clocks, randomness, timers and effects, which differ in each replay. */

export const clockCases: RuleCases = {
  good: [
    body("return ctx.now();"),
    body("return await ctx.step('time', () => Date.now());"),
    body("return new Date(ctx.now()).getFullYear();"),
    body("return new Date(input.at).toISOString() + Date.UTC(2024, 0, 1) + Date.parse(input.text);"),
    body("const Date = input.dates; return Date.now();"),
    file("export function stamp() { return Date.now(); }"),
    body("return await ctx.tryStep('time', async () => { const at = new Date(); return at.getTime(); });"),
    body("const read = () => Date.now(); return await ctx.step('read', read);"),
    body("await ctx.step('hold', () => 1, { rollback: () => console.log(Date.now()) });"),
    body("await ctx.resource('db', { acquire: () => Date.now(), release: () => performance.now() });"),
    body("return input.date.now() + input.performance.now();"),
    typed(
      "import { type Ctx } from 'pawl'; export const at = (ctx: Ctx, when: Date): number => when.getTime() - ctx.now();",
    ),
    body("await ctx.step('both', () => 1, { rollback: { run: () => Date.now() } });"),
  ],
  bad: [
    body("return Date.now();"),
    body("const at = new Date(); return at;"),
    body("return Date();"),
    body("return performance.now();"),
    body("return globalThis.Date.now();"),
    body("const now = Date.now; return now();"),
    body("return await ctx.step('time', () => 1).then(() => Date.now());"),
    body("const read = () => Date.now(); await ctx.step('read', read); return read();"),
    body("await ctx.join('all', { one: async (c) => { await c.sleep(new Date().getTime()); } });"),
    body("return await ctx.loop({ name: 'l', run: async (c) => Loop.break(Date.now()) });"),
    {
      ...typed(
        "import type { Ctx } from 'pawl'; export async function late(ctx: Ctx) { return Date.now() as number; }",
      ),
    },
    file("import { workflow as define } from 'pawl'; async function run(ctx) { return new Date(); } define('w', run);"),
    file("import * as pawl from 'pawl'; pawl.workflow('w', { version: 2 }, async (ctx) => process.hrtime());"),
    file(
      "import { performance } from 'node:perf_hooks'; import { workflow } from 'pawl'; workflow('w', async () => performance.now());",
    ),
  ],
};

export const randomCases: RuleCases = {
  good: [
    body("return ctx.random();"),
    body("return ctx.uuid();"),
    body("return await ctx.step('draw', () => Math.random());"),
    body("return Math.floor(ctx.random() * 6) + Math.max(1, 2);"),
    body("const crypto = input.crypto; return crypto.randomUUID();"),
    file("export const draw = () => Math.random();"),
    file(
      "import { randomUUID } from 'node:crypto'; import { workflow } from 'pawl'; workflow('w', (ctx) => ctx.step('id', () => randomUUID()));",
    ),
    file(
      "import { createHash } from 'node:crypto'; import { workflow } from 'pawl'; workflow('w', async (ctx, text) => createHash('sha256').update(text).digest('hex'));",
    ),
    body("return await ctx.transaction('draw', (tx) => tx.set('n', Math.random()));"),
    body("return input.Math.random();"),
  ],
  bad: [
    body("return Math.random();"),
    body("return crypto.randomUUID();"),
    body("return crypto.getRandomValues(new Uint8Array(4));"),
    body("return window.crypto.randomUUID();"),
    body("return Math['random']();"),
    body("const items = input.toSorted(() => Math.random() - 0.5); return items;"),
    file(
      "import { randomUUID } from 'node:crypto'; import { workflow } from 'pawl'; workflow('w', async () => randomUUID());",
    ),
    file(
      "import * as crypto from 'crypto'; import { workflow } from 'pawl'; workflow('w', async () => crypto.randomInt(6));",
    ),
    file("import { v4 } from 'uuid'; import { workflow } from 'pawl'; workflow('w', async () => v4());"),
    body("if (Math.random() < 0.5) await ctx.step('a', () => 1);"),
    body("await ctx.race('r', { a: async (c) => Math.random() });"),
  ],
};

export const timerCases: RuleCases = {
  good: [
    body("await ctx.sleep('1 h');"),
    body("await ctx.step('wait', () => new Promise((done) => setTimeout(done, 5)));"),
    body("await ctx.sleepUntil(ctx.now() + 1_000);"),
    body("const setTimeout = input.later; setTimeout(1);"),
    file("export const pause = () => new Promise((done) => setTimeout(done, 5));"),
    file(
      "import { setTimeout } from 'node:timers/promises'; import { workflow } from 'pawl'; workflow('w', (ctx) => ctx.step('wait', () => setTimeout(5)));",
    ),
    body("await ctx.step('call', () => AbortSignal.timeout(50));"),
    body("return { setTimeout: 1, ...input }.setTimeout;"),
    body("queueMicrotask(() => undefined);"),
    body(
      "const pause = () => new Promise((done) => setTimeout(done, 5)); await ctx.step('wait', async () => { await pause(); });",
    ),
  ],
  bad: [
    body("setTimeout(() => undefined, 5);"),
    body("await new Promise((done) => setTimeout(done, 5));"),
    body("const timer = setInterval(() => undefined, 5); return timer;"),
    body("setImmediate(() => undefined);"),
    body("globalThis.setTimeout(() => undefined, 5);"),
    body("return AbortSignal.timeout(50);"),
    file(
      "import { setTimeout as pause } from 'node:timers/promises'; import { workflow } from 'pawl'; workflow('w', async () => { await pause(5); });",
    ),
    file(
      "import * as timers from 'timers'; import { workflow } from 'pawl'; workflow('w', async () => { timers.setTimeout(() => 1, 5); });",
    ),
    body("const { scheduler } = await import('node:timers/promises'); await scheduler.wait(5);"),
    body("await Promise.race([ctx.listen('x'), new Promise((done) => setTimeout(done, 5))]);"),
    body("await ctx.try('t', async (c) => { setTimeout(() => c, 5); });"),
  ],
};

export const effectCases: RuleCases = {
  good: [
    body("return await ctx.step('get', () => fetch(input.url));"),
    body(
      "return await ctx.step('get', async () => { const answer = await fetch(input.url); return await answer.json(); });",
    ),
    file("export const get = (url) => fetch(url);"),
    file(
      "import { readFile } from 'node:fs/promises'; import { workflow } from 'pawl'; workflow('w', (ctx) => ctx.step('read', () => readFile('a')));",
    ),
    file(
      "import { join } from 'node:path'; import { workflow } from 'pawl'; workflow('w', async () => join('a', 'b'));",
    ),
    body("return await ctx.step('env', () => process.env.HOME);"),
    body("const fetch = input.fetch; return fetch('x');"),
    body(
      `const get = (url) => fetch(url); return await Promise.all(input.map((url) => ctx.step(\`get \${url}\`, () => get(url))));`,
    ),
    body(
      "await ctx.resource('socket', { acquire: () => new WebSocket(input.url), release: (socket) => socket.close() });",
    ),
    body("await ctx.step('mail', () => 1, { rollback: async () => { await fetch('undo'); } });"),
    typed("import { workflow } from 'pawl'; workflow('w', async (ctx, answer: typeof fetch) => String(answer));"),
  ],
  bad: [
    body("return await fetch(input.url);"),
    body("return process.env.HOME;"),
    body("const get = fetch; return await ctx.step('get', () => get('x'));"),
    body("return new WebSocket(input.url);"),
    file(
      "import { readFile } from 'node:fs/promises'; import { workflow } from 'pawl'; workflow('w', async () => await readFile('a'));",
    ),
    file("import fs from 'fs'; import { workflow } from 'pawl'; workflow('w', async () => fs.readFileSync('a'));"),
    file("import * as os from 'node:os'; import { workflow } from 'pawl'; workflow('w', async () => os.hostname());"),
    file(
      "import { execFile } from 'child_process'; import { workflow } from 'pawl'; workflow('w', async () => { execFile('ls'); });",
    ),
    body("const fs = await import('node:fs'); return fs.readFileSync('a');"),
    body("const fs = require('fs'); return fs.readFileSync('a');"),
    body("return localStorage.getItem('a');"),
    body("await Promise.all(input.map((url) => fetch(url)));"),
    body("await ctx.join('all', { get: async () => await fetch('x') });"),
    file("import { env } from 'node:process'; import { workflow } from 'pawl'; workflow('w', async () => env.HOME);"),
  ],
};
