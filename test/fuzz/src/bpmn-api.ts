import * as bpmn from "@pawl/bpmn";
import type { ApiGroup, Method } from "./api.ts";
import { anything, data, listOf, oneOf, options, type Parameter, ref } from "./recipe.ts";

/** How the fuzz calls each public method of `@pawl/bpmn`: the values that its parameters accept. */

const run = oneOf(ref("id of a process run", "id of a suspended run"), data("nothing-there"));
const process = data("approval", "no such process");
const version = data(1, 2);
const row = oneOf(ref("row of the user task"), data(0, 99));
const user = data("ann", "bob");
const text = data("a reason", "");
const task = oneOf(ref("id of a task"), data("nothing-there"));
const variables = options({ amount: data(1, 5), name: anything });
const count = data(1, 2, 100);
const flag = data(true, false);
const by = options({ by: user, why: text });
const tags = listOf(data("a"));
const callback = ref("callback");
const form = oneOf(data("f"), options({}, { schema: options({ type: data("object") }) }));
const feel = data("1 + 1", "amount > 3", "if", "for x in [1, 2] return x", "");
const xml = oneOf(ref("BPMN document"), data("<foo/>", "<a><b></a>", ""));
const dmn = oneOf(ref("DMN document"), xml);
const limits = options({ timeoutMs: count, memoryBytesMax: data(1_000_000) });
const budget = options({
  budget: options({ stepsMax: data(1_000), depthMax: data(100), sizeMax: data(1_000) }),
  world: options({ now: data(1), random: callback }),
});

function call(...args: readonly Parameter[]): Method {
  return { args };
}

export const BPMN_API: readonly ApiGroup[] = [
  {
    name: "bpmn",
    target: "bpmn",
    methods: {
      open: call(),
      deploy: call(
        oneOf(ref("graph", "BPMN document"), data("<foo/>")),
        options({ state: data("draft", "published"), strict: flag }),
      ),
      deployFiles: call(
        listOf(
          oneOf(
            options({}, { name: data("a.bpmn"), content: oneOf(dmn, data('{"components":[]}', "{")) }),
            data("nothing.dmn"),
          ),
        ),
        options({ state: data("draft", "published"), strict: flag, resolve: callback }),
      ),
      resources: call(data("decisions", "form"), data("a", "nothing")),
      deployments: call(process),
      publishVersion: call(process, version, options({ by: user })),
      deprecateVersion: call(process, version, options({ by: user })),
      archiveVersion: call(process, version, options({ by: user })),
      migrate: call(
        listOf(run),
        version,
        options({ map: options({ ask: data("ask2") }), dryRun: flag, by: user, why: text }),
      ),
      refresh: call(),
      start: call(
        process,
        variables,
        options({
          version,
          id: data("p-1"),
          tags,
          businessKey: data("k-1"),
          unique: flag,
          startedBy: user,
          priority: data(5, "high"),
          deadline: data("1 h"),
          ttl: data(500),
        }),
      ),
      startByCondition: call(variables, options({ tags, businessKey: data("k-1") })),
      find: call(
        options({
          businessKey: data("k-1"),
          process,
          status: listOf(data("running", "suspended")),
          startedBy: user,
          priority: options({ atLeast: data(1), atMost: data(99) }),
          incident: flag,
          element: data("ask", "nowhere"),
          variable: options({ value: data(1) }, { name: data("n") }),
          limit: count,
        }),
      ),
      publish: call(data("paid"), options({ key: data("k-1"), variables, id: data("m-1"), ttl: data("1 s") })),
      signal: call(data("stop"), variables, options({ id: data("s-1") })),
      completeTask: call(run, oneOf(ref("location of a task"), data("nowhere")), variables),
      explain: call(run),
      view: call(run, options({ at: count })),
      history: call(run, options({ at: count })),
      on: call(data("node.started", "task.created"), callback),
    },
  },
  {
    name: "operate",
    target: "operate",
    methods: {
      setVariables: call(run, variables, oneOf(row, data(null))),
      retry: call(run, row),
      skip: call(run, row, variables),
      cancelToken: call(run, row),
      moveToken: call(run, row, data("ask", "end", "nowhere")),
      retryIncidents: call(listOf(run)),
      snapshot: call(run, data("a point"), options({ by: user, why: text })),
      snapshots: call(run),
      rollback: call(
        run,
        options({ snapshot: data("a point"), element: data("ask", "nowhere"), row }),
        options({ id: data("rollback-1"), by: user, why: text, messages: data("redeliver", "drop") }),
      ),
    },
  },
  {
    name: "tasks",
    target: "tasks",
    methods: {
      get: call(task),
      history: call(task),
      form: call(task),
      ask: { skip: "its first argument is the context of a workflow; ask-task.test.ts covers the others" },
      list: call(
        options({
          assignee: user,
          candidateUser: user,
          candidateGroup: user,
          runId: run,
          process,
          due: oneOf(data("any", "overdue"), options({}, { before: data(1) })),
          unassigned: flag,
          forUser: options({ groups: listOf(user) }, { id: user }),
          text,
          element: data("ask"),
          priority: options({ min: count, max: count }),
          tags,
          order: data("created", "newest", "due", "priority"),
          cursor: text,
          state: data("open", "any"),
          limit: count,
        }),
      ),
      create: call(
        options(
          {
            id: data("t-1"),
            description: text,
            assignee: user,
            form,
            priority: count,
            candidateUsers: listOf(user),
            candidateGroups: listOf(user),
            dueAt: count,
            followUpAt: count,
            tags,
            variables,
            notify: options({}, { runId: run, message: data("m") }),
          },
          { name: data("check") },
        ),
      ),
      assign: call(task, oneOf(user, data(null)), by),
      claim: call(task, user, options({ groups: listOf(user) })),
      release: call(task, by),
      delegate: call(task, user, by),
      complete: call(task, variables, by),
      cancel: call(task, by),
      comment: call(task, text, by),
    },
  },
  {
    name: "@pawl/bpmn",
    target: "module @pawl/bpmn",
    exports: bpmn,
    methods: {
      createBpmn: call(
        options(
          {
            handlers: options({ a: callback }),
            nodeTypes: options({ slack: callback }),
            tasks: options({ serviceTask: callback }),
            evaluate: callback,
            retry: options({
              maxAttempts: count,
              backoff: data("linear"),
              initialMs: count,
              maxMs: count,
              jitter: data(0.1),
            }),
            forms: options({ f: options({ type: data("object") }) }),
            now: ref("now"),
            snapshotEvery: count,
            snapshotAtJoins: flag,
          },
          { engine: ref("engine") },
        ),
      ),
      humanTasks: call(options({ now: ref("now"), newId: ref("new id") }, { engine: ref("engine", "client") })),
      readBpmn: call(xml),
      rewriteBpmn: call(xml),
      bpmnToGraphs: call(xml),
      graphToBpmn: call(ref("graph"), options({ nodeTypes: listOf(data("slack")) })),
      readXml: call(xml, options({ charsMax: data(100_000) })),
      problemsOf: call(anything),
      readDecisions: call(dmn),
      inspectDecisions: call(dmn),
      decide: call(ref("decision model"), data("d", "none"), variables, budget),
      checkFeel: call(feel, listOf(data("a b"))),
      evaluateFeel: call(feel, variables, budget),
      testFeel: call(data("< 10", "1, 2"), anything, variables, budget),
      evaluateExpression: {
        skip: "the evaluator of the machine, which checks nothing; evaluateFeel is the checked one",
      },
      temporal: call(data("2024-01-01", "P1D", "nothing")),
      decisionTasks: call(listOf(ref("decision model")), budget),
      httpClient: call(
        options({
          timeoutMs: count,
          responseBytesMax: count,
          requestBytesMax: count,
          redirectsMax: count,
          resolve: callback,
          secret: callback,
          allowedHosts: listOf(data("a.example")),
          trustedHosts: listOf(data("a.example")),
          ports: listOf(data(80)),
        }),
      ),
      httpTasks: call(ref("HTTP client")),
      scriptTasks: call(ref("script engine"), options({ now: ref("now") })),
      scriptEngine: { args: [options({ size: count, queueMax: count, limits })], close: "close" },
      advance: { skip: "a pure function on the state of the machine, which only the machine makes" },
      Instance: { skip: "a class on the state of the machine, which only the machine makes" },
      Bpmn: { skip: "a class, which createBpmn creates" },
      Tasks: { skip: "a class, which humanTasks creates" },
      Operate: { skip: "a class, which createBpmn creates" },
      BpmnError: { skip: "an error class: its arguments are those of Error" },
    },
  },
  {
    name: "httpClient",
    target: "HTTP client",
    methods: {
      request: call(
        options(
          {
            method: data("GET", "POST"),
            parts: options({ id: data("a") }),
            headers: options({ accept: data("text/plain") }),
            body: anything,
            idempotencyKey: data("k"),
          },
          { url: data("http://127.0.0.1:1/{id}", "https://a.example/") },
        ),
      ),
    },
  },
  {
    name: "scriptEngine",
    target: "script engine",
    methods: {
      run: call(
        options(
          { now: count, seed: count, timeoutMs: data(200) },
          { source: data("return 1", "return amount", "throw 1", "}"), variables },
        ),
      ),
      close: { args: [], target: "spare script engine" },
    },
  },
];
