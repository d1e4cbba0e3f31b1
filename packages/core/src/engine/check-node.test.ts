import { readFileSync } from "node:fs";
import { expect, it, onTestFinished, vi } from "vitest";
import { checkNode } from "./check-node.ts";

const versionsOf = (node: string): Record<string, string> => ({ node, v8: "11" });

it.each(["12.22.12", "18.20.8", "20.0.0", "20.18.3"])("Node %s is rejected with PLATFORM_UNSUPPORTED", (node) => {
  const message = `pawl needs Node 20.19 or newer; this is Node ${node}`;
  expect(() => checkNode(versionsOf(node))).toThrow(expect.objectContaining({ code: "PLATFORM_UNSUPPORTED", message }));
});

it.each(["20.19.0", "20.20.2", "22.0.0", "24.1.0", "100.0.0"])("Node %s is accepted", (node) => {
  expect(() => checkNode(versionsOf(node))).not.toThrow();
});

it.each([
  ["a browser", undefined],
  ["Bun", { node: "18.0.0", bun: "1.0.0" }],
  ["Deno", { node: "18.0.0", deno: "1.40.0" }],
])("%s is accepted, although it is no Node 20.19", (_, versions) => {
  expect(() => checkNode(versions)).not.toThrow();
});

it("an import of pawl is rejected when Node is too old", async () => {
  const given = Object.getOwnPropertyDescriptor(process, "versions") as PropertyDescriptor;
  onTestFinished(() => {
    Object.defineProperty(process, "versions", given);
    vi.resetModules();
  });
  Object.defineProperty(process, "versions", { ...given, value: { ...process.versions, node: "18.20.8" } });
  vi.resetModules();
  await expect(import("../index.ts")).rejects.toMatchObject({ code: "PLATFORM_UNSUPPORTED" });
});

it("the packages require the Node that the check requires", () => {
  for (const folder of ["core", "bpmn"]) {
    const path = new URL(`../../../${folder}/package.json`, import.meta.url);
    const { engines } = JSON.parse(readFileSync(path, "utf8")) as { readonly engines: { readonly node: string } };
    expect(engines.node).toBe(">=20.19");
  }
});
