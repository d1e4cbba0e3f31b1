import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, test } from "vitest";
import { readDecisions } from "../dmn/read-decisions.ts";
import { httpClient } from "../http/http-client.ts";
import type { Job } from "../program/handlers.ts";
import { scriptEngine } from "../script/script-engine.ts";
import { decisionTasks } from "./decision-tasks.ts";
import { httpTasks } from "./http-tasks.ts";
import { scriptTasks } from "./script-tasks.ts";

const juel = (text: string): string => ["$", "{", text, "}"].join("");

const jobOf = (element: object, variables: Record<string, unknown>): Job =>
  ({
    runId: "r",
    process: "p",
    element: { id: "e", properties: {}, script: null, decision: null, resultVariable: null, ...element },
    variables,
    attempt: 1,
    signal: new AbortController().signal,
    startedBy: null,
    log: () => undefined,
    idempotencyKey: "r/e",
  }) as unknown as Job;

test("a script task runs JavaScript and rejects other languages", async () => {
  const engine = scriptEngine({ size: 1 });
  const handler = scriptTasks(engine, { now: () => 5 });
  const script = (text: string, format: string | null) => jobOf({ script: { text, format } }, { n: 2 });
  expect(await handler(script("return { double: variables.n * 2, at: Date.now() }", "javascript"))).toEqual({
    double: 4,
    at: 5,
  });
  const draws = "return Math.random()";
  expect(await handler(script(draws, null))).toBe(await handler(script(draws, "text/javascript")));
  await expect(handler(script("1", "groovy"))).rejects.toThrow("only JavaScript is supported");
  await expect(handler(jobOf({}, {}))).rejects.toThrow("e has no script");
  await engine.close();
});

test("a script task ends at its own timeout", async () => {
  const engine = scriptEngine({ size: 1 });
  const endless = { script: { text: "for (;;);", format: "javascript" }, properties: { timeout: "PT0.05S" } };
  await expect(scriptTasks(engine)(jobOf(endless, {}))).rejects.toMatchObject({ code: "SCRIPT_LIMIT" });
  await engine.close();
});

test("a business rule task evaluates its decision", async () => {
  const model = readDecisions(
    '<definitions xmlns="https://www.omg.org/spec/DMN/20230324/MODEL/" name="m" namespace="urn:m"><inputData id="n" name="n"/><decision id="d" name="size"><variable name="size"/><informationRequirement><requiredInput href="#n"/></informationRequirement><literalExpression><text>if n > 5 then "large" else "small"</text></literalExpression></decision></definitions>',
  );
  const handler = decisionTasks([model]);
  expect(await handler(jobOf({ decision: "size" }, { n: 9 }))).toBe("large");
  expect(await handler(jobOf({ decision: "d" }, { n: 1 }))).toBe("small");
  expect(() => handler(jobOf({ decision: "none" }, {}))).toThrow("which no model has");
});

const decisions = (text: string): string =>
  `<definitions xmlns="https://www.omg.org/spec/DMN/20230324/MODEL/" name="m" namespace="urn:m"><decision id="d" name="d"><literalExpression><text>${text}</text></literalExpression></decision></definitions>`;

test("a business rule task is an incident when its decision needs a variable that it does not have", () => {
  const handler = decisionTasks([readDecisions(decisions("rate * amount"))]);
  expect(handler(jobOf({ decision: "d" }, { rate: 2, amount: 3 }))).toBe(6);
  expect(() => handler(jobOf({ decision: "d" }, { rate: 2 }))).toThrow(
    "decision d needs amount, which task e does not have; set or map it",
  );
});

test("a business rule task is an incident when its decision has no value because of an error", () => {
  const handler = decisionTasks([readDecisions(decisions("rate * 2"))]);
  expect(() => handler(jobOf({ decision: "d" }, { rate: "high" }))).toThrow(
    "decision d of task e has no value: operator * is not defined for string and number",
  );
});

test("warnings of a decision that has a value reach onWarnings", () => {
  const seen: string[] = [];
  const model = readDecisions(decisions("[rate * 2]"));
  const handler = decisionTasks([model], { onWarnings: (warnings) => seen.push(...warnings) });
  expect(handler(jobOf({ decision: "d" }, { rate: "high" }))).toEqual([null]);
  expect(seen).toEqual(["operator * is not defined for string and number"]);
});

test("a service task sends its request and stores the response in a variable", async () => {
  const server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () =>
      response
        .setHeader("content-type", "application/json")
        .end(
          JSON.stringify([
            request.method,
            request.url,
            request.headers["x-id"],
            request.headers["idempotency-key"],
            body,
          ]),
        ),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  const handler = httpTasks(httpClient({ trustedHosts: [host] }));
  const properties = {
    url: `http://${host}/orders/{id}`,
    method: "PUT",
    "header.X-Id": "=id",
    body: "={total: n + 1}",
    responseVariable: "answer",
  };
  expect(await handler(jobOf({ properties }, { id: "a b", n: 1 }))).toEqual({
    answer: ["PUT", "/orders/a%20b", "a b", "r/e", '{"total":2}'],
  });
  const inside = { text: `n is ${juel("n")}`, list: ["=n + 1", juel("n"), "plain ", { deep: "=[id]" }], flag: true };
  const graph = {
    url: `http://${host}/orders/${juel("id")}/${juel("item.sku")}`,
    "header.X-Id": `order-${juel("id")}`,
    bodyJson: JSON.stringify(inside),
  };
  expect(await handler(jobOf({ properties: graph }, { id: "7/8", n: 2, item: { sku: "s 1" } }))).toEqual({
    response: [
      "POST",
      "/orders/7%2F8/s%201",
      "order-7/8",
      "r/e",
      JSON.stringify({ text: "n is 2", list: [3, 2, "plain ", { deep: ["7/8"] }], flag: true }),
    ],
  });
  const computed = { url: `="http://${host}/x?n=" + string(n)`, body: juel("n") };
  expect(await handler(jobOf({ properties: computed }, { n: 2 }))).toEqual({
    response: ["POST", "/x?n=2", null, "r/e", "2"],
  });
  await expect(handler(jobOf({ properties: { url: `http://${host}/`, timeout: "soon" } }, {}))).rejects.toThrow(
    'timeout of task e is "soon"; it must be milliseconds or a duration such as PT5S',
  );
  await expect(handler(jobOf({ properties: { url: "http://169.254.169.254/" } }, {}))).rejects.toMatchObject({
    name: "CriticalError",
  });
  await expect(handler(jobOf({}, {}))).rejects.toThrow("e has no url");
  server.close();
});
