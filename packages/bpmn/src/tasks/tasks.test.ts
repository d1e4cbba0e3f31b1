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

const jobOf = (element: object, variables: Record<string, unknown>): Job =>
  ({
    runId: "r",
    process: "p",
    element: { id: "e", properties: {}, script: null, decision: null, resultVariable: null, ...element },
    variables,
    attempt: 1,
    signal: new AbortController().signal,
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

test("a business rule task evaluates its decision", async () => {
  const model = readDecisions(
    '<definitions xmlns="https://www.omg.org/spec/DMN/20230324/MODEL/" name="m" namespace="urn:m"><inputData id="n" name="n"/><decision id="d" name="size"><variable name="size"/><informationRequirement><requiredInput href="#n"/></informationRequirement><literalExpression><text>if n > 5 then "large" else "small"</text></literalExpression></decision></definitions>',
  );
  const handler = decisionTasks([model]);
  expect(await handler(jobOf({ decision: "size" }, { n: 9 }))).toBe("large");
  expect(await handler(jobOf({ decision: "d" }, { n: 1 }))).toBe("small");
  expect(() => handler(jobOf({ decision: "none" }, {}))).toThrow("which no model has");
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
  await expect(handler(jobOf({ properties: { url: "http://169.254.169.254/" } }, {}))).rejects.toMatchObject({
    name: "CriticalError",
  });
  await expect(handler(jobOf({}, {}))).rejects.toThrow("e has no url");
  server.close();
});
