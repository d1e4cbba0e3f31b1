import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, expect, it } from "vitest";
import { leftMs } from "./progress.mjs";
import { measureRound } from "./rounds.mjs";

/** Failures and interruptions of a benchmark. The measured part is a short bare loop. */

const NO_PLACE = {
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
  const listeners = { measuredPart: () => undefined, failed: (failure: string) => void failures.push(failure) };
  return { results: await measureRound({ name: "W1", parts }, 1, NO_PLACE, listeners), failures };
}

describe("failing parts", () => {
  it("a failed part of a peer is reported with its reason, and the others are measured", async () => {
    const { results, failures } = await measured([loop("raw"), { ...broken, peer: true }, loop("rawAfter")]);
    expect(Object.keys(results)).toEqual(["raw", "broken", "rawAfter"]);
    expect(results).toMatchObject({ broken: { failure: expect.stringContaining("nobody") } });
    expect(results).toMatchObject({ rawAfter: { stepsPerSecond: expect.any(Number) } });
    expect(failures).toHaveLength(1);
  });

  it("a failed part of Pawl ends the round of its workload", async () => {
    await expect(measured([broken, loop("raw")])).rejects.toThrow("nobody");
  });
});

describe("an interruption", () => {
  it("an interruption ends the current part, and no further part is measured", async () => {
    const script = `
      import { handleSignals, runPart } from ${JSON.stringify(new URL("spawn.mjs", import.meta.url).href)};
      handleSignals();
      const part = { module: "raw/step-loop", options: { inFlight: 1, warmMs: 600_000, windowMs: 20 } };
      const first = runPart(part, { store: "memory" });
      console.log("measuring");
      const next = first.catch(() => runPart({ ...part, node: "nothing-like-it" }, { store: "memory" }));
      for (const each of [first, next]) await each.catch((error) => console.log(error.message));
    `;
    const child = spawn(process.execPath, ["--input-type=module", "--eval", script], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    let output = "";
    child.stdout.setEncoding("utf8").on("data", (text) => {
      if (output === "") child.kill("SIGINT");
      output += text;
    });
    const [code] = await once(child, "close");
    const stopped = "interrupted; nothing was written\n";
    expect({ code, output }).toEqual({ code: 0, output: `measuring\n${stopped}${stopped}` });
  });
});

describe("remaining time", () => {
  it("the remaining time uses the duration of a part in the previous round, or the mean of the others", () => {
    expect(leftMs(["W1 raw", "W1 pawl", "W2 pawl"], new Map([["W1 raw", 100]]), 30)).toBe(160);
  });
});
