import * as pawl from "pawl";
import * as host from "pawl/host";
import * as postgres from "pawl/postgres";
import * as redis from "pawl/redis";
import * as sqlite from "pawl/sqlite";
import * as testing from "pawl/testing";
import type { ApiGroup, Method } from "./api.ts";
import { anything, data, listOf, oneOf, options, type Parameter, ref } from "./recipe.ts";

/** How the fuzz calls each public method of the core: the values that its parameters accept. */

const run = oneOf(
  ref("id of a suspended run", "id of an ended run", "id of a failed run", "id of a paused run"),
  data("nothing-there", "r-1", "exported"),
);
const name = data("go", "m", "news", "step 1", "a");
const workflow = ref("workflow", "declared workflow", "foreign workflow", "workflow with a schema");
const message = oneOf(name, ref("message type"));
const topic = oneOf(name, ref("topic type"));
const duration = data(0, 1, 20, "1 s", "PT5M", "2 days");
const count = data(1, 2, 3, 100);
const flag = data(true, false);
const tags = listOf(name);
const text = data("a reason", "");
const callback = ref("callback");
const schema = ref("schema", "schema that refuses", "asynchronous schema", "schema that throws");
const at = oneOf(data("step", 0, 1, 2, "wait"), data(99));
const plainRetry = {
  maxAttempts: count,
  initialMs: duration,
  factor: data(1, 2),
  maxMs: duration,
  jitter: data(0, 0.5),
};
const retry = oneOf(data(false), options({ ...plainRetry, shouldRetry: callback, delay: callback }));
const tx = ref("open transaction", "no transaction");
const page = { limit: data(1, 10, 1_000), cursor: ref("cursor") };
const time = data(0, 1_700_000_000_000);
const act = { id: data("act-1"), by: text, why: text };
const rewind = options({ ...act, children: data("cancel", "detach"), messages: data("redeliver", "drop") });
const startLimits = { deadline: duration, ttl: duration };
const start = {
  id: data("r-1", "r-2"),
  onConflict: data("use", "fail", "restart"),
  tags,
  delay: duration,
  tx,
  ...startLimits,
};
const sending = { id: data("m-1"), onTargetTerminated: data("discard", "broadcast", "deadLetter") };
const emitting = {
  deliver: data("afterWait", "afterCreate", "all"),
  consume: data("one", "all"),
  expireAfter: duration,
};
const store = ref("spare store", "store with a run", "closed store");
const limits = { maxRunDuration: oneOf(duration, data(false)), maxSuspendDuration: duration, maxJournalRecords: count };
const code = { codeErrors: data("pause", "fail"), revision: data("r1", "r2") };
const engineOptions = {
  ...limits,
  workflows: ref("list of workflows"),
  concurrency: count,
  hotRuns: data(0, 10),
  hotBytes: data(1_000_000),
  lease: data("1 s", 60_000),
  poll: data("1 s", 60_000),
  claimsMax: count,
  poisoned: data("compensate", "keep"),
  storageRetryPolicy: oneOf(data(false), options(plainRetry)),
  storageTimeout: duration,
  timerResolution: duration,
  propagateChildFailures: flag,
  maxPendingEventsPerType: count,
  eventRetention: duration,
  retention: options({ completed: duration, failed: duration, cancelled: duration, deadLetters: duration }),
  payloadBytesMax: data(1_000, 1_000_000),
  codec: ref("codec"),
  acceptCodec: flag,
  ...code,
  log: oneOf(callback, ref("callback that throws")),
  world: options({ clock: ref("clock"), random: ref("random") }),
};
const workflowOptions = options({ ...limits, ...code, input: schema, output: schema, retry, version: count });
const payload = data(null, "1", '{"a":1}', "not JSON");
const post = {
  id: data("m-2"),
  value: payload,
  at: time,
};
const messagePost = options(
  {},
  { ...post, kind: data("message"), to: run, name, onTargetTerminated: data("discard"), from: data(null) },
);
const eventPost = options(
  {},
  {
    ...post,
    kind: data("event"),
    topic: name,
    expireAt: time,
    deliver: data("all"),
    consume: data("one"),
    pendingMax: count,
  },
);
const op = oneOf(
  options({}, { kind: data("send"), post: messagePost }),
  options({}, { kind: data("emit"), post: eventPost }),
  options({}, { kind: data("cancel", "pause", "terminate"), runId: run, opId: data("op-1"), reason: data(null) }),
  options({}, { kind: data("resume"), runId: run, opId: data("op-2") }),
  options(
    {},
    { kind: data("letter"), letterId: ref("id of a dead letter"), post: oneOf(data(null), messagePost, eventPost) },
  ),
  options(
    {},
    {
      kind: data("start"),
      run: options(
        {},
        {
          id: data("submitted"),
          workflow: data("waits"),
          version: data(1),
          input: payload,
          tags,
          parent: data(null),
          createdAt: time,
          startId: data("s"),
          owner: data(null),
          startAt: time,
        },
      ),
    },
  ),
  options({}, { kind: data("append", "rewrite", "hold", "fail", "documents", "revise", "bogus") }),
);
const document = options(
  { attributes: options({ a: name, d: data("open") }) },
  { kind: data("kind"), id: data("d-1"), runId: data(null), value: anything, attributes: options({ a: name }) },
);
const telling = options({ id: name }, { runId: run, message: name, value: anything });
const event = data("record", "run.completed", "run.failed", "store.down");
const moving = options({ codec: ref("codec"), keepOpen: flag, clock: ref("clock") });
const step = {
  retry,
  timeout: duration,
  retryOnTimeout: flag,
  ephemeral: flag,
  idempotencyKey: name,
  rollback: oneOf(callback, options({ retry, timeout: duration, retryOnTimeout: flag }, { run: callback })),
};
const waiting = { name, timeout: duration, until: time };
const arm = oneOf(
  options({}, { message }),
  options({}, { event: topic }),
  options({}, { after: duration }),
  options({}, { until: time }),
  options({ message, after: duration }),
);
const branches = oneOf(
  options({ a: ref("branch"), b: options({}, { run: ref("branch") }) }),
  listOf(options({}, { name, run: ref("branch") })),
);
const mapping = options({ concurrency: count, failures: data("throw", "return") });
const child = { name, onParentClose: data("cancel", "abandon"), tags, delay: duration, ...startLimits };
const recordKind = data("step", "sleep", "listen", "version");

function call(...args: readonly Parameter[]): Method {
  return { args };
}

const RUN_METHODS = {
  send: call(message, anything, options(sending)),
  cancel: call(text),
  terminate: call(text),
  pause: call(text),
  resume: call(),
  rewind: call(at, rewind),
  retry: call(rewind),
} as const;

const READS = {
  start: call(workflow, anything, options(start)),
  run: call(oneOf(run, workflow), oneOf(run, options({ generation: count })), options({ generation: count })),
  get: call(run),
  list: call(
    options({
      ...page,
      status: listOf(data("running", "failed")),
      workflow: name,
      tag: name,
      version: count,
      parent: run,
      createdAfter: time,
      createdBefore: time,
      endedAfter: time,
      endedBefore: time,
    }),
  ),
  send: call(run, message, anything, options({ ...sending, tx })),
  emit: call(topic, anything, options({ ...emitting, id: name, tx })),
  cancel: call(run, text),
  terminate: call(run, text),
  pause: call(run, text),
  resume: call(run),
  rewind: call(run, at, rewind),
  retry: call(run, rewind),
  fork: call(
    run,
    oneOf(at, data(null)),
    options({
      by: text,
      why: text,
      id: data("fork-1"),
      input: anything,
      patch: options({ step: anything }),
      tags,
      openChildren: data("refuse", "ignore"),
    }),
  ),
  explain: call(run),
  delete: call(data("no such run"), options({ children: flag })),
  restart: call(run, count, options(act, { plan: ref("plan", "callback") })),
} as const;

const stubs = { steps: options({ step: callback }), unusedSteps: data("reject", "allow") } as const;

export const CORE_API: readonly ApiGroup[] = [
  {
    name: "engine",
    target: "engine",
    methods: {
      ...READS,
      open: call(),
      register: call(workflow),
      migrate: call(run, count, options({ step: oneOf(name, data(null)) }), options({ ...act, dryRun: flag })),
      recover: call(),
      metrics: call(),
      prune: call(
        options({
          retention: options({ completed: data("1 day"), failed: data("1 day") }),
          batch: count,
          onProgress: callback,
          signal: ref("signal"),
        }),
      ),
      on: call(event, callback),
      submit: call(op),
      submitBatch: call(listOf(op)),
      shutdown: { args: [options({ drainMs: data(0, 1) })], target: "spare engine" },
    },
  },
  {
    name: "client",
    target: "client",
    methods: { ...READS, close: { args: [], target: "spare client" } },
  },
  {
    name: "deadLetters",
    target: "dead letters",
    methods: {
      list: call(options(page)),
      get: call(ref("id of a dead letter")),
      replay: call(ref("id of a dead letter"), options({ to: run })),
      remove: call(data("no such letter")),
    },
  },
  {
    name: "documents",
    target: "documents",
    methods: {
      get: call(data("kind"), data("d-1")),
      list: call(options({ ...page, where: options({ a: name, d: data("open") }) }, { kind: data("kind") })),
      revise: call(oneOf(data(null), ref("document")), document, telling),
    },
  },
  {
    name: "run",
    target: "run handle",
    methods: {
      ...RUN_METHODS,
      result: { args: [options({ timeout: duration, signal: anything, waitWhilePaused: flag })], waits: true },
      status: call(),
      journal: call(),
      sinceSnapshot: call(),
      watch: call(options({ after: count, signal: anything })),
    },
  },
  {
    name: "ctx",
    target: "ctx",
    inWorkflow: true,
    methods: {
      step: call(name, callback, options(step)),
      tryStep: call(name, callback, options({ ...step, catch: listOf(data("critical", "timeout")) })),
      transaction: call(name, callback, options({ retry, idempotencyKey: name, rollback: callback })),
      resource: call(name, options({ release: callback, retry }, { acquire: callback })),
      sleep: call(duration, options({ name })),
      sleepUntil: call(oneOf(time, ref("date")), options({ name })),
      listen: call(message, options(waiting)),
      listenN: call(message, count, options(waiting)),
      awaitEvent: call(topic, options(waiting)),
      select: call(options({ a: arm, b: arm }), options({ name })),
      join: call(name, branches),
      race: call(name, branches),
      map: call(name, listOf(anything), ref("branch"), mapping),
      loop: call(
        options(
          { commitInterval: count, historyEvery: count, historyKeep: count, state: anything },
          { name },
          { run: ref("iteration") },
        ),
      ),
      try: call(name, ref("branch"), options({ catch: listOf(data("step", "code")) })),
      getVersion: call(name, count),
      removed: call(name, recordKind),
      child: call(workflow, anything, options({ ...child, propagateFailure: flag })),
      startChild: call(workflow, anything, options(child)),
      result: call(run, options({ name })),
      continueAs: { skip: "it ends the generation of the run that makes the calls; ctx-arguments.test.ts covers it" },
      rollbackCheckpoint: call(name),
      cancel: call(run, text),
      send: call(run, message, anything, options(sending)),
      emit: call(topic, anything, options({ ...emitting, id: name })),
      now: call(),
      random: call(),
      uuid: call(),
      log: call(text, options({ a: anything })),
    },
  },
  {
    name: "pawl",
    target: "module pawl",
    exports: pawl,
    methods: {
      createEngine: { args: [options(engineOptions, { store })], close: "shutdown" },
      createClient: {
        args: [options({ poll: duration, codec: ref("codec"), log: callback }, { store })],
        close: "close",
      },
      checkReplay: call(
        options(
          {
            codec: ref("codec"),
            keepOpen: flag,
            sample: data(0.5, 1),
            limit: count,
            findingsMax: count,
            onProgress: callback,
            onFinding: callback,
          },
          { store, workflows: listOf(workflow) },
        ),
      ),
      exportRun: call(store, run, moving),
      importRun: call(store, ref("export", "export as text"), moving),
      endExported: call(store, ref("export", "export as text"), moving),
      diff: call(ref("journal"), ref("journal")),
      workflow: call(name, oneOf(workflowOptions, callback), callback),
      declareWorkflow: call(name, options({ input: schema, version: count })),
      programWorkflow: call(name, callback, workflowOptions),
      message: call(name, schema),
      topic: call(name, options({ ...emitting, schema })),
      childPost: call(
        ref("program host"),
        name,
        options({ tags, onParentClose: data("cancel") }, { workflow, input: anything }),
      ),
      messagePost: call(ref("program host"), name, options({}, { to: run, name, value: anything })),
      topicPost: call(
        ref("program host"),
        name,
        options(
          {},
          { topic: name, value: anything, deliver: data("all"), consume: data("one"), expireAfter: duration },
        ),
      ),
      rollbackFailures: call(anything),
      memoryStore: call(),
      seededRandom: call(count),
      readOptions: { skip: "its table is a constant of a package; option-check.test.ts covers it" },
      readArgument: { skip: "its kind and its name are constants of a package; option-check.test.ts covers it" },
      guardArguments: { skip: "its callback is code of a package" },
      notAllowed: { skip: "its texts are constants of a package" },
      optionTable: { skip: "its arguments are constants of a package" },
      openTable: { skip: "its arguments are constants of a package" },
      PawlError: { skip: "an error class: its arguments are those of Error" },
      CriticalError: { skip: "an error class: its arguments are those of Error" },
      RetryAfterError: { skip: "an error class; engine/steps.test.ts covers its delay" },
      RollbackError: { skip: "an error class: its arguments are those of Error" },
      JoinError: { skip: "an error class: its arguments are those of Error" },
      RaceError: { skip: "an error class: its arguments are those of Error" },
      StoreError: { skip: "an error class: its arguments are those of Error" },
    },
  },
  {
    name: "pawl/host",
    target: "module pawl/host",
    exports: host,
    methods: {
      runWorkflow: {
        args: [data("hosted"), workflow, anything, ref("driver"), options({ ...engineOptions, mode: data("yield") })],
        close: "evict",
      },
      hostedRun: call(data("hosted"), ref("driver"), options(engineOptions)),
      memoryDriver: call(listOf(options({}, { key: ref("bytes"), value: ref("bytes") }))),
      memoryNamespaces: call(),
      lmdbNamespaces: call(anything),
      sqliteNamespaces: call(ref("SQLite database")),
      encodeTuple: call(listOf(oneOf(name, count, flag))),
      decodeTuple: call(ref("bytes")),
    },
  },
  {
    name: "hostedRun",
    target: "hosted run",
    methods: {
      message: call(message, anything, options(sending)),
      emit: call(topic, anything, options(emitting)),
      wake: call(),
      cancel: call(text),
      getOutput: call(),
      getState: call(),
      evict: call(options({ drainMs: data(0, 1) })),
    },
  },
  {
    name: "pawl/sqlite",
    target: "module pawl/sqlite",
    exports: sqlite,
    methods: {
      sqliteStore: call(
        oneOf(data("never-opened.db"), ref("SQLite database")),
        options({ synchronous: data("FULL", "NORMAL"), pollMs: count, walBytesMax: count }),
      ),
      openDatabase: { skip: "it creates a file of any name; its path is checked as that of sqliteStore" },
    },
  },
  {
    name: "pawl/postgres",
    target: "module pawl/postgres",
    exports: postgres,
    methods: {
      postgresStore: call(
        data("postgres://127.0.0.1:1/x"),
        options({
          schema: data("pawl"),
          connectionsMax: data(2, 5),
          statementMs: count,
          listen: flag,
          allowAsyncCommit: flag,
          clock: data("database", "process"),
        }),
      ),
    },
  },
  {
    name: "pawl/redis",
    target: "module pawl/redis",
    exports: redis,
    methods: {
      redisStore: call(
        oneOf(data("redis://127.0.0.1:1"), listOf(data("redis://127.0.0.1:1"))),
        options({
          prefix: data("p"),
          partitions: data(1, 3),
          allow: listOf(data("eviction")),
          silenceMs: count,
          clock: data("server", "process"),
        }),
      ),
    },
  },
  {
    name: "pawl/testing",
    target: "module pawl/testing",
    exports: testing,
    methods: {
      testEngine: {
        args: [
          options(
            { ...engineOptions, ...stubs, now: oneOf(time, ref("date")), seed: count },
            { workflows: listOf(workflow) },
          ),
        ],
        close: "close",
      },
      replayJournal: call(workflow, ref("export", "export as text")),
      crashable: call(store, oneOf(data(null), options({}, { commit: count, applied: flag }))),
      intercepted: call(store, callback),
      virtualWorld: call(options({ now: time, seed: count })),
      virtualClock: call(time),
      effectLog: call(),
      VirtualClock: { skip: "a class, which virtualClock creates" },
      ExploreError: { skip: "an error class, which explore creates" },
      explore: { skip: "it replaces global functions while it runs; explore.test.ts covers its options" },
      storeContract: { skip: "it registers tests" },
      driverContract: { skip: "it registers tests" },
    },
  },
  {
    name: "testEngine",
    target: "test engine",
    methods: {
      start: call(workflow, anything, options({ id: data("r-1"), tags })),
      run: call(run),
      send: call(run, message, anything, options(sending)),
      emit: call(topic, anything, options(emitting)),
      advance: call(data(0, 10, "1 s")),
      settle: call(),
      now: call(),
      close: { args: [], target: "spare test engine" },
    },
  },
];
