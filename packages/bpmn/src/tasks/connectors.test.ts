import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { memoryStore } from "pawl";
import { describe, expect, onTestFinished, test } from "vitest";
import { type Handlers, httpClient, httpTasks, problemsOf } from "../index.ts";
import { documentOf, flows } from "../testing/document.ts";
import { ended, siteOf } from "../testing/site.ts";

const camunda = (inside: string): string =>
  documentOf(`<startEvent id="s"/>${inside}<endEvent id="e"/>${flows("s -> a\na -> e")}`).replace(
    'xmlns:pawl="urn:pawl:bpmn"',
    'xmlns:camunda="http://camunda.org/schema/1.0/bpmn"',
  );
const connector = (parameters: string, id = "http-connector"): string =>
  `<camunda:connector><camunda:inputOutput>${parameters}</camunda:inputOutput><camunda:connectorId>${id}</camunda:connectorId></camunda:connector>`;
const input = (name: string, value: string): string =>
  `<camunda:inputParameter name="${name}">${value}</camunda:inputParameter>`;
const output = (name: string, value: string): string =>
  `<camunda:outputParameter name="${name}">${value}</camunda:outputParameter>`;
const task = (extensions: string): string =>
  camunda(`<serviceTask id="a"><extensionElements>${extensions}</extensionElements></serviceTask>`);

interface Received {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly accept: string | undefined;
  readonly body: string;
}

/** A server that returns what it received. */
async function echo(): Promise<{ readonly host: string; readonly received: readonly Received[] }> {
  const received: Received[] = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += String(part);
    received.push({ method: request.method, url: request.url, accept: request.headers.accept, body });
    response.setHeader("content-type", "application/json");
    response.end('{"price":7}');
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, received };
}

async function execute(xml: string, handlers: Handlers, variables = {}) {
  const { open, world } = await siteOf(memoryStore(), onTestFinished);
  const { bpmn } = await open({ handlers });
  const [deployed] = await bpmn.deploy(xml);
  const run = await bpmn.start("p", variables);
  return { bpmn, deployed, run, result: () => ended(world, run), world };
}

describe("connectors", () => {
  test("an HTTP connector sends its request and assigns its outputs only", async () => {
    const { host, received } = await echo();
    const port = Number(host.split(":")[1]);
    const client = httpClient({ trustedHosts: ["127.0.0.1"], ports: [port] });
    const parameters =
      input("url", `http://${host}/orders/#{id}`) +
      input("method", "POST") +
      input("headers", '<camunda:map><camunda:entry key="Accept">application/json</camunda:entry></camunda:map>') +
      input(
        "payload",
        '<camunda:map><camunda:entry key="id">#{id}</camunda:entry><camunda:entry key="tags"><camunda:list><camunda:value>new</camunda:value><camunda:value>#{kind}</camunda:value></camunda:list></camunda:entry></camunda:map>',
      ) +
      output("price", "#{response.price}") +
      output("total", "#{price * 2 + statusCode}");
    const mapped = `<camunda:inputOutput>${input("kind", "big #{size}")}</camunda:inputOutput>`;
    const made = await execute(
      task(mapped + connector(parameters)),
      { "http-connector": httpTasks(client) },
      { id: "a b", size: 3 },
    );
    expect(made.deployed).not.toHaveProperty("ignored");
    expect(await made.run.result()).toEqual({ id: "a b", size: 3, price: 7, total: 214 });
    expect(received).toMatchObject([{ method: "POST", url: "/orders/a%20b", accept: "application/json" }]);
    expect(JSON.parse(received[0]?.body ?? "")).toEqual({ id: "a b", tags: ["new", "big 3"] });
  });

  test("a connector without outputs assigns nothing, and its URL and method may be expressions", async () => {
    const { host, received } = await echo();
    const port = Number(host.split(":")[1]);
    const client = httpClient({ trustedHosts: ["127.0.0.1"], ports: [port] });
    const parameters = input("url", "#{base}/all") + input("method", "#{verb}");
    const variables = { base: `http://${host}`, verb: "GET" };
    const made = await execute(task(connector(parameters)), { "http-connector": httpTasks(client) }, variables);
    expect(await made.run.result()).toEqual(variables);
    expect(received).toMatchObject([{ method: "GET", url: "/all" }]);
  });

  test("another connector calls the handler with its id, with its mapped inputs", async () => {
    const parameters = input("to", "#{who}@example.com") + output("id", "#{messageId}");
    const made = await execute(
      camunda(
        `<sendTask id="a"><extensionElements>${connector(parameters, "mail-send")}</extensionElements></sendTask>`,
      ),
      { "mail-send": ({ variables }) => ({ messageId: `to ${variables.to}` }) },
      { who: "ann" },
    );
    expect(await made.result()).toEqual({ who: "ann", id: "to ann@example.com" });
  });

  test("a connector that cannot be executed as written is a problem", async () => {
    const script = '<camunda:script scriptFormat="groovy">1</camunda:script>';
    for (const [xml, text] of [
      [connector(input("url", "http://x") + input("payload", script)), "payload of the connector is a script"],
      [connector(input("method", "GET")), "the connector has no url; add the parameter"],
      [connector(input("url", "http://x") + input("retry", "1")), "parameter retry of the connector is not known"],
      [connector(input("url", "http://x") + input("headers", "#{all}")), "the headers of the connector must be a map"],
      [connector("", ""), "the connector has no connectorId; add one"],
      [connector(input("url", "#{1 +}")), "1 +"],
    ] as const) {
      const error = await execute(task(xml), {}).catch((caught: unknown) => caught);
      expect(
        problemsOf(error)
          .map((problem) => `${problem.element} ${problem.text}`)
          .join(),
      ).toContain(text);
    }
  });

  test("a parameter that is a script is listed, and its variable is not set", async () => {
    const script = '<camunda:script scriptFormat="groovy">1</camunda:script>';
    const mapping = `<camunda:inputOutput>${input("x", script)}${input("y", "<camunda:list/>")}</camunda:inputOutput>`;
    const xml = camunda(
      `<serviceTask id="a" camunda:topic="t"><extensionElements>${mapping}</extensionElements></serviceTask>`,
    );
    const made = await execute(xml, { t: ({ variables }) => ({ seen: variables }) });
    expect(await made.result()).toEqual({ seen: { y: [] } });
    expect(made.deployed?.ignored).toMatchObject([{ element: "a", extension: "camunda:inputParameter x" }]);
  });

  test("a missing handler names the connector", async () => {
    const made = await execute(task(connector(input("url", "http://x"))), {});
    await made.world.settle();
    expect((await made.bpmn.view(made.run.id)).incidents).toMatchObject([
      { kind: "noHandler", message: "a has no handler; register one named http-connector" },
    ]);
  });
});
