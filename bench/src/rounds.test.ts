import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { leftMs } from "./progress.mjs";
import { measureRound } from "./rounds.mjs";

/** What happens to a run that does not go well. What is measured is a bare loop, for a moment. */

const NOWHERE = {
  make: async () => ({ store: "memory" }),
  remove: async () => undefined,
  settings: async () => [],
  close: async () => undefined,
};
const loop = (name: string): object => ({
  name,
  module: "raw/step-loop",
  options: { inFlight: 1, warmMs: 1, windowMs: 20 },
});
const broken = { name: "broken", module: "peers/nobody" };

async function measured(parts: readonly object[]): Promise<{ results: Record<string, object>; failures: string[] }> {
  const failures: string[] = [];
  const tell = { said: () => undefined, failed: (failure: string) => void failures.push(failure) };
  return { results: await measureRound({ name: "W1", parts }, 1, NOWHERE, tell), failures };
}

describe("a part that fails", () => {
  it("is told with its reason where it is a peer, and the others are measured", async () => {
    const { results, failures } = await measured([loop("raw"), { ...broken, peer: true }, loop("rawAfter")]);
    expect(Object.keys(results)).toEqual(["raw", "broken", "rawAfter"]);
    expect(results).toMatchObject({ broken: { failure: expect.stringContaining("nobody") } });
    expect(results).toMatchObject({ rawAfter: { stepsPerSecond: expect.any(Number) } });
    expect(failures).toHaveLength(1);
  });

  it("ends the workload's round where it is ours: nothing could be said without it", async () => {
    await expect(measured([broken, loop("raw")])).rejects.toThrow("nobody");
  });
});

describe("an interruption", () => {
  it("ends what is measured at the moment, and nothing is measured after it", async () => {
    const script = `
      import { heedSignals, runPart } from ${JSON.stringify(new URL("spawn.mjs", import.meta.url).href)};
      heedSignals();
      const part = { module: "raw/step-loop", options: { inFlight: 1, warmMs: 600_000, windowMs: 20 } };
      const first = runPart(part, { store: "memory" });
      console.log("measuring");
      const next = first.catch(() => runPart({ ...part, node: "nothing-like-it" }, { store: "memory" }));
      for (const each of [first, next]) await each.catch((error) => console.log(error.message));
    `;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let said = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      if (said === "") child.kill("SIGINT");
      said += text;
    });
    const [code] = await once(child, "close");
    const stopped = "stopped before its end; nothing was written\n";
    expect({ code, said }).toEqual({ code: 0, said: `measuring\n${stopped}${stopped}` });
  });
});

describe("the time that is left", () => {
  it("is what a part took in the round before, and the mean of the others where there was none", () => {
    expect(leftMs(["W1 raw", "W1 pawl", "W2 pawl"], new Map([["W1 raw", 100]]), 30)).toBe(160);
  });
});
