import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { createEngine, memoryStore } from "pawl";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { type Bpmn, createBpmn } from "../bpmn.ts";
import { readDecisions } from "../dmn/read-decisions.ts";
import { httpClient } from "../http/http-client.ts";
import { scriptEngine } from "../script/script-engine.ts";
import { documentOf, flows } from "../testing/document.ts";
import { decisionTasks } from "./decision-tasks.ts";
import { httpTasks } from "./http-tasks.ts";
import { scriptTasks } from "./script-tasks.ts";

/** Requests, scripts and decisions of deployed models, in real time. */

const SIZES = readDecisions(
  '<definitions xmlns="https://www.omg.org/spec/DMN/20230324/MODEL/" name="m" namespace="urn:m"><inputData id="n" name="n"/><decision id="d" name="size"><variable name="size"/><informationRequirement><requiredInput href="#n"/></informationRequirement><literalExpression><text>if n > 5 then "large" else "small"</text></literalExpression></decision></definitions>',
);

let host: string;
let logged: Array<readonly [string, string, Readonly<Record<string, unknown>>]>;
let bpmn: Bpmn;

beforeEach(async () => {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      response.statusCode = request.url === "/down" ? 503 : 200;
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ method: request.method, path: request.url, id: request.headers["x-id"], body }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const scripts = scriptEngine({ size: 1 });
  logged = [];
  const engine = await createEngine({
    store: memoryStore(),
    log: (level, text, fields) => void logged.push([level, text, fields]),
  });
  bpmn = await createBpmn({
    engine,
    retry: { maxAttempts: 1 },
    handlers: { tell: ({ log }) => log("warn", "told", { to: "ann" }) },
    tasks: {
      serviceTask: httpTasks(httpClient({ trustedHosts: [host] })),
      scriptTask: scriptTasks(scripts),
      businessRuleTask: decisionTasks([SIZES]),
    },
  });
  onTestFinished(async () => {
    await engine.shutdown();
    await scripts.close();
    server.close();
  });
});

test("service, script and business rule tasks of a BPMN document are executed", async () => {
  await bpmn.deploy(
    documentOf(
      `<startEvent id="s"/>
       <serviceTask id="ask"><extensionElements><pawl:properties><pawl:property name="url" value="http://${host}/orders/{id}"/>
         <pawl:property name="method" value="PUT"/><pawl:property name="header.X-Id" value="=id"/>
         <pawl:property name="body" value="={total: n + 1}"/><pawl:property name="responseVariable" value="answer"/>
       </pawl:properties></extensionElements></serviceTask>
       <scriptTask id="double" scriptFormat="javascript"><script>return { twice: variables.n * 2 }</script></scriptTask>
       <businessRuleTask id="judge" pawl:decisionRef="size" pawl:resultVariable="size"/>
       ${flows("s -> ask\nask -> double\ndouble -> judge")}`,
    ),
  );
  const run = await bpmn.start("p", { id: "a b", n: 9 });
  expect(await run.result()).toEqual({
    id: "a b",
    n: 9,
    answer: { method: "PUT", path: "/orders/a%20b", id: "a b", body: '{"total":10}' },
    twice: 18,
    size: "large",
  });
});

test("service, script and business rule tasks of a JSON graph are executed", async () => {
  await bpmn.deploy({
    id: "g",
    nodes: [
      { id: "start", type: "startProcess" },
      {
        id: "ask",
        type: "serviceTask",
        data: {
          serviceConfig: {
            method: "POST",
            url: `http://${host}/orders/$\{id}`,
            headers: { "X-Id": "=id" },
            requestBody: { fixed: [1, "two"] },
            responseVariable: "answer",
          },
        },
      },
      {
        id: "double",
        type: "scriptTask",
        data: { script: { code: "return variables.n * 2", resultVariable: "twice" } },
      },
      { id: "judge", type: "businessRule", data: { ruleId: "size", resultVariable: "size" } },
      { id: "end", type: "endProcess" },
    ],
    connections: [
      { source: "start", target: "ask" },
      { source: "ask", target: "double" },
      { source: "double", target: "judge" },
      { source: "judge", target: "end" },
    ],
  });
  const run = await bpmn.start("g", { id: "7", n: 2 });
  const { answer, ...rest } = (await run.result()) as {
    readonly answer: { readonly path: string; readonly body: string };
  };
  expect(answer).toMatchObject({ method: "POST", path: "/orders/7", id: "7", body: '{"fixed":[1,"two"]}' });
  expect(rest).toEqual({ id: "7", n: 2, twice: 4, size: "small" });
});

test("the console of a script and the log of a handler are lines of the engine's log", async () => {
  await bpmn.deploy(
    documentOf(
      `<startEvent id="s"/><scriptTask id="say" scriptFormat="javascript"><script>console.log("n", variables.n); console.error("oh")</script></scriptTask>
       <serviceTask id="tell" pawl:handler="tell"/>${flows("s -> say\nsay -> tell")}`,
    ),
  );
  const run = await bpmn.start("p", { n: 9 }, { id: "r" });
  await run.result();
  expect(logged.filter(([, , fields]) => fields.run === "r")).toEqual([
    ["info", "n 9", { run: "r", element: "say" }],
    ["error", "oh", { run: "r", element: "say" }],
    ["warn", "told", { run: "r", element: "tell", to: "ann" }],
  ]);
});

test("an error status of the server is an incident of the service task", async () => {
  await bpmn.deploy(
    documentOf(
      `<startEvent id="s"/><serviceTask id="ask"><extensionElements><pawl:properties>
       <pawl:property name="url" value="http://${host}/down"/></pawl:properties></extensionElements></serviceTask>${flows("s -> ask")}`,
    ),
  );
  const run = await bpmn.start("p");
  await expect.poll(() => run.status(), { timeout: 100_000 }).toBe("suspended");
  expect((await bpmn.view(run.id)).incidents).toMatchObject([{ element: "ask", kind: "failed" }]);
});
