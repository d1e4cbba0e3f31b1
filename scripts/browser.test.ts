import { expect, it } from "vitest";
import { bundleForBrowser, findChromium, runInBrowser } from "./browser.mjs";

const chromium = findChromium();

it("a browser bundle of the core imports no module of Node and contains no store that needs Node", async () => {
  const { code, modules, outside } = await bundleForBrowser("scripts/browser-page.mjs");
  expect(outside).toEqual([]);
  expect(code).not.toMatch(/from\s*"node:/);
  expect(modules.length).toBeGreaterThan(50);
  expect(modules.filter((path) => /store\/(sqlite|postgres|redis)\//.test(path))).toEqual([]);
});

// CI must have Chromium.
it.skipIf(chromium === null && process.env.CI !== "true")(
  "Chromium executes workflows in a page and in a worker, with an engine and with a host",
  async () => {
    if (chromium === null) throw new Error("Chromium not found; install it, or set PAWL_CHROMIUM");
    const { code } = await bundleForBrowser("scripts/browser-page.mjs");
    const results = await runInBrowser(chromium, code, 2);
    const output = (value: string): object => ({ charged: 42, value, bytes: [1, 2, 3], text: "größer", isSame: true });
    const both = { engine: { result: output("ann"), listed: 1 }, host: { output: output("bob"), keys: true } };
    expect(results).toEqual([
      { where: "page", ...both },
      { where: "worker", ...both },
    ]);
  },
);
