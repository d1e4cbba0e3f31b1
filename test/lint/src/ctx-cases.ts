import { type BadCase, body, file, type RuleCases, typed } from "./cases.ts";

/** Cases of the rules about the use of ctx. */

export const awaitCases: RuleCases = {
  good: [
    body("await ctx.step('a', () => 1);"),
    body("return ctx.step('a', () => 1);"),
    body("const a = ctx.step('a', () => 1); const b = ctx.step('b', () => 2); return await Promise.all([a, b]);"),
    body(`await Promise.all(input.map((page) => ctx.step(\`fetch \${page}\`, () => page)));`),
    body("await Promise.race([ctx.sleep('1 s').then(() => 'clock'), ctx.listen('answer')]);"),
    body("ctx.log('hello'); ctx.removed('old', 'step'); ctx.now(); ctx.random(); ctx.uuid();"),
    body(
      "return await ctx.join('both', { a: (c) => c.step('a', () => 1), b: async (c) => { await c.sleep('1 s'); } });",
    ),
    body(`for (const page of input) await ctx.step(\`fetch \${page}\`, () => page);`),
    body("const handle = await ctx.startChild(input.workflow, 1); return await handle.result();"),
    body("let open; open = ctx.listen('a'); return await open;"),
    typed(
      "import type { Ctx } from 'pawl'; async function quote(ctx: Ctx) { await ctx.step('a', () => 1); } export async function all(ctx: Ctx) { await quote(ctx); }",
    ),
    body("input.forEach((item) => ctx.log(item));"),
    body("return await (input.fast ? ctx.step('fast', () => 1) : ctx.step('slow', () => 2));"),
    body("const tell = () => ctx.step('tell', () => 1); await tell();"),
    file("const ctx = { step() {} }; ctx.step();"),
  ],
  bad: [
    body("ctx.step('a', () => 1);"),
    body("void ctx.sleep('1 s');"),
    body("ctx.step('a', () => 1).then(() => 2);"),
    body("ctx.step('a', () => 1).catch(() => 2);"),
    body("const a = ctx.step('a', () => 1);"),
    body("input.ok && ctx.step('a', () => 1);"),
    body("input.ok ? ctx.step('a', () => 1) : undefined;"),
    body(`input.forEach((page) => ctx.step(\`fetch \${page}\`, () => page));`),
    body(`input.forEach(async (page) => { await ctx.step(\`fetch \${page}\`, () => page); });`),
    body("await ctx.join('both', { a: async (c) => { c.step('a', () => 1); } });"),
    body("ctx.emit('topic', 1); ctx.send('run', 'message', 1);"),
    body("await ctx.step('a', () => 1), 2; ctx.listen('x');"),
    {
      ...typed(
        "import type { Ctx } from 'pawl'; async function quote(ctx: Ctx) { await ctx.step('a', () => 1); } export async function all(ctx: Ctx) { quote(ctx); }",
      ),
    },
    {
      ...typed("import type { Ctx } from 'pawl'; export async function all(ctx: Ctx) { (ctx as Ctx).sleep('1 s')!; }"),
    },
  ].map((each): BadCase => (each.body?.includes("ctx.emit") ? { ...each, findings: 2 } : each)),
};

export const ownCtxCases: RuleCases = {
  good: [
    body("await ctx.join('all', { a: (c) => c.step('a', () => 1) });"),
    body("await ctx.join('all', { a: (ctx) => ctx.step('a', () => 1) });"),
    body("await ctx.join('all', { a: { run: (c) => c.step('a', () => 1) } });"),
    body("await ctx.race('r', [{ name: 'a', run: (c) => c.sleep('1 s') }]);"),
    body("await ctx.map('m', input, (c, item) => c.step('a', () => item));"),
    body(
      "await ctx.join('all', { a: async (c) => { ctx.log('hello'); return await c.step('a', () => ctx.runId); } });",
    ),
    body(
      "return await ctx.loop({ name: 'l', run: async (c) => { await c.sleep('1 s'); return Loop.break(ctx.now()); } });",
    ),
    body("return await ctx.try('t', (c) => c.step('a', () => 1));"),
    body("await ctx.race('r', { a: (c) => c.sleep('1 s'), b(c) { return c.listen('x'); } });"),
    body("await ctx.join('all', { a: (c) => c.join('deep', { b: (d) => d.step('b', () => 1) }) });"),
    body(`const tell = (text) => ctx.step(\`tell \${text}\`, () => text); await tell('a'); await tell('b');`),
    body(`await Promise.all(input.map(async (item) => { await ctx.step(\`item \${item}\`, () => item); }));`),
    typed(
      "import type { Ctx } from 'pawl'; export async function all(ctx: Ctx) { return await ctx.try('t', (c: Ctx) => c.sleep('1 s')); }",
    ),
    body("const { ctx: other } = input; return await ctx.try('t', (c) => c.step('a', () => other));"),
  ],
  bad: [
    body("await ctx.join('all', { a: () => ctx.step('a', () => 1) });"),
    body("await ctx.join('all', { a: async (c) => { await c.sleep('1 s'); await ctx.step('a', () => 1); } });"),
    body("await ctx.race('r', { a: (c) => ctx.sleep('1 s') });"),
    body("await ctx.race('r', [{ name: 'a', run: () => ctx.sleep('1 s') }]);"),
    body("await ctx.map('m', input, (c, item) => ctx.step('a', () => item));"),
    body("await ctx.loop({ name: 'l', run: async (c) => { await ctx.sleep('1 s'); } });"),
    body(
      "await ctx.loop({ name: 'l', state: 0, async run(c, n) { return Loop.break(await ctx.step('a', () => n)); } });",
    ),
    body("await ctx.try('t', () => ctx.step('a', () => 1));"),
    body("await ctx.join('all', { a: (c) => c.join('deep', { b: (d) => c.step('b', () => 1) }) });"),
    body("const quote = async (inner) => 1; await ctx.join('all', { a: () => quote(ctx) });"),
    body("await ctx.join('all', { a: async (c) => { await Promise.all(input.map(() => ctx.sleep('1 s'))); } });"),
    body("const branch = async (c) => { await ctx.sleep('1 s'); }; await ctx.join('all', { branch });"),
    body("await ctx.race('r', { a: async (c) => { ctx.signal.throwIfAborted(); } });"),
    {
      ...typed(
        "import type { Ctx } from 'pawl'; export async function all(ctx: Ctx) { return await ctx.try('t', (c) => ctx.uuid()); }",
      ),
    },
  ],
};

export const noCtxInStepCases: RuleCases = {
  good: [
    body("await ctx.step('a', () => ctx.runId);"),
    body("await ctx.step('a', () => ctx.now());"),
    body("await ctx.step('a', ({ attempt }) => attempt);"),
    body("await ctx.step('a', () => input.step('b'));"),
    body("await ctx.step('a', () => { ctx.log('in the step'); });"),
    body("await ctx.step('a', () => 1).then(() => ctx.step('b', () => 2));"),
    body("await ctx.try('t', (c) => c.step('a', () => 1));"),
    body("await ctx.step('a', (ctx) => ctx.step('b', () => 2));"),
    file("export const f = (ctx) => ctx.step('a', () => ctx.step('b', () => 1));"),
  ],
  bad: [
    body("await ctx.step('a', () => ctx.step('b', () => 1));"),
    body("await ctx.step('a', () => ctx.uuid());"),
    body("await ctx.step('a', async () => { await ctx.sleep('1 s'); });"),
    body("await ctx.tryStep('a', async () => { await ctx.emit('topic', 1); });"),
    body("await ctx.transaction('a', () => ctx.send('run', 'message', 1));"),
    body("await ctx.step('a', () => 1, { rollback: () => ctx.step('undo', () => 1) });"),
    body("await ctx.resource('db', { acquire: () => ctx.step('open', () => 1) });"),
    body("const work = () => ctx.sleep('1 s'); await ctx.step('a', work);"),
    body("await ctx.join('all', { a: (c) => c.step('a', () => c.listen('x')) });"),
    body("await ctx.step('a', () => Promise.all([1, 2].map(() => ctx.listen('x'))));"),
    {
      ...typed("import type { Ctx } from 'pawl'; export const f = (ctx: Ctx) => ctx.step('a', () => ctx.child(w, 1));"),
    },
  ],
};

export const uniqueNamesCases: RuleCases = {
  good: [
    body("await ctx.step('a', () => 1); await ctx.step('b', () => 1);"),
    body("await ctx.step('a', () => 1); await ctx.try('t', (c) => c.step('a', () => 1));"),
    body(`for (const page of input) await ctx.step(\`fetch \${page}\`, () => page);`),
    body("if (input.ok) await ctx.step('tell', () => 1); else await ctx.step('tell', () => 2);"),
    body("return await (input.ok ? ctx.step('tell', () => 1) : ctx.step('tell', () => 2));"),
    body("if (input.ok) { await ctx.step('tell', () => 1); return; } await ctx.step('tell', () => 2);"),
    body(
      "switch (input.kind) { case 'a': await ctx.step('tell', () => 1); break; default: await ctx.step('tell', () => 2); }",
    ),
    body("await ctx.sleep('1 s'); await ctx.sleep('2 s'); await ctx.listen('x'); await ctx.listen('x');"),
    body("await ctx.sleep('1 s', { name: 'first' }); await ctx.sleep('1 s', { name: 'second' });"),
    body("await ctx.join('all', { a: (c) => c.step('work', () => 1), b: (c) => c.step('work', () => 2) });"),
    file("import { workflow } from 'pawl'; const NAME = 'charge'; workflow('w', (ctx) => ctx.step(NAME, () => 1));"),
    typed("import type { Ctx } from 'pawl'; export const tell = (ctx: Ctx, name: string) => ctx.step(name, () => 1);"),
    body("await ctx.step('fetch ' + input.page, () => 1);"),
    file(
      "import { workflow } from 'pawl'; workflow('a', (ctx) => ctx.step('x', () => 1)); workflow('b', (ctx) => ctx.step('x', () => 1));",
    ),
    body(
      "const version = await ctx.getVersion('v', 2); if (version === 1) await ctx.step('a', () => 1); else await ctx.step('b', () => 1);",
    ),
  ],
  bad: [
    body("await ctx.step('a', () => 1); await ctx.step('a', () => 1);"),
    body("await ctx.step('a', () => 1); await ctx.tryStep('a', () => 1);"),
    body("await ctx.step('a', () => 1); await ctx.sleep('1 s', { name: 'a' });"),
    body("await Promise.all([ctx.step('a', () => 1), ctx.step('a', () => 2)]);"),
    body("await ctx.join('all', { a: async (c) => { await c.step('x', () => 1); await c.step('x', () => 2); } });"),
    body(
      "await ctx.loop({ name: 'l', run: async (c) => Loop.break() }); await ctx.loop({ name: 'l', run: async (c) => Loop.break() });",
    ),
    body("if (input.ok) await ctx.step('a', () => 1); await ctx.step('a', () => 2);"),
    body("try { await ctx.step('a', () => 1); } catch { await ctx.step('a', () => 2); }"),
    body("const make = () => 'a'; await ctx.step(make(), () => 1);"),
    body("let name = 'a'; name = input.name; await ctx.step(name, () => 1);"),
    file(
      "import { workflow } from 'pawl'; const NAME = 'a'; workflow('w', async (ctx) => { await ctx.step(NAME, () => 1); await ctx.step(`a`, () => 1); });",
    ),
    body("await ctx.step('a', () => 1); await ctx.child(input.workflow, 1, { name: 'a' });"),
    body(
      "switch (input.kind) { case 'a': await ctx.step('tell', () => 1); default: await ctx.step('tell', () => 2); }",
    ),
  ],
};
