import { expect, it } from "vitest";
import { bundleForBrowser, findChromium, runInBrowser } from "./browser.mjs";

const chromium = findChromium();

it("a bundle of the core for browsers takes nothing from Node, and no store that needs it", async () => {
  const { code, modules, outside } = await bundleForBrowser("scripts/browser-page.mjs");
  expect(outside).toEqual([]);
  expect(code).not.toMatch(/from\s*"node:/);
  expect(modules.length).toBeGreaterThan(50);
  expect(modules.filter((path) => /store\/(sqlite|postgres|redis)\//.test(path))).toEqual([]);
});

// Elsewhere than in CI it may be missing; CI has to have it.
it.skipIf(chromium === null && process.env.CI !== "true")(
  "workflows run in a page of Chromium and in a worker, in an engine and in a host",
  async () => {
    if (chromium === null) throw new Error("there is no Chromium: install it, or name one in PAWL_CHROMIUM");
    const { code } = await bundleForBrowser("scripts/browser-page.mjs");
    const seen = await runInBrowser(chromium, code, 2);
    const output = (value: string): object => ({ charged: 42, value, bytes: [1, 2, 3], text: "größer", isSame: true });
    const both = { engine: { result: output("ann"), listed: 1 }, host: { output: output("bob"), keys: true } };
    expect(seen).toEqual([
      { where: "page", ...both },
      { where: "worker", ...both },
    ]);
  },
);
