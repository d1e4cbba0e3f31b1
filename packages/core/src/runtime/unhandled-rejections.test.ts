import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nodeEventLoop } from "./event-loop.ts";
import { trackUnhandledRejections, type UnhandledRejections } from "./unhandled-rejections.ts";

type Listener = (...args: unknown[]) => void;
const EVENTS = ["unhandledRejection", "uncaughtException"] as const;

const removed: Array<readonly [(typeof EVENTS)[number], Listener]> = [];
let reported: unknown[] = [];
/** A set, because with `--unhandled-rejections=strict` a rejection is also raised as an exception. */
let uncaught = new Set<unknown>();
let rejections: UnhandledRejections;

// The test runner has listeners too, and would report the rejections as failures.
beforeEach(() => {
  for (const event of EVENTS) {
    for (const listener of process.listeners(event as "exit")) {
      removed.push([event, listener as Listener]);
      process.off(event, listener as Listener);
    }
  }
  [reported, uncaught] = [[], new Set()];
  process.on("uncaughtException", (error) => uncaught.add(error.message));
  rejections = trackUnhandledRejections((runId, error) => reported.push([runId, (error as Error).message]));
});

afterEach(() => {
  rejections.stop();
  for (const event of EVENTS) process.removeAllListeners(event);
  for (const [event, listener] of removed.splice(0)) process.on(event, listener);
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function rejectLater(message: string): Promise<void> {
  await turn();
  throw new Error(message);
}

describe("an unhandled rejection", () => {
  it("an unhandled rejection of watched code is reported with its run, even if it happens turns later", async () => {
    rejections.watched("a", () => void rejectLater("of a"));
    rejections.watched("b", () => void rejectLater("of b"));
    await turn();
    await turn();
    expect(reported).toEqual([
      ["a", "of a"],
      ["b", "of b"],
    ]);
  });

  it("an unhandled rejection outside of runs becomes an uncaught exception", async () => {
    void rejectLater("of no run");
    await turn();
    await turn();
    expect([reported, [...uncaught]]).toEqual([[], ["of no run"]]);
  });

  it("a promise created before any run belongs to no run, even if it is rejected in a whenIdle callback of a run", async () => {
    const eventLoop = nodeEventLoop();
    let reject = (_: Error): void => undefined;
    void new Promise((_, fail) => {
      reject = fail;
    });
    rejections.watched("a", () => eventLoop.whenIdle(() => reject(new Error("of no run"))));
    await turn();
    await turn();
    expect([reported, [...uncaught]]).toEqual([[], ["of no run"]]);
  });

  it("an unattributed rejection is reported for the unwatched run while that run executes", async () => {
    rejections.watched("watched", () => void rejectLater("of watched"));
    const end = rejections.unwatched("long", () => void rejectLater("of long"));
    await turn();
    await turn();
    expect(reported).toEqual([
      ["watched", "of watched"],
      ["long", "of long"],
    ]);
    end();
    void rejectLater("of no run");
    await turn();
    await turn();
    expect([reported.length, uncaught.has("of no run")]).toEqual([2, true]);
  });

  it("a stopped tracker receives no rejection", async () => {
    const others = trackUnhandledRejections(() => reported.push("others"));
    others.unwatched("long", () => undefined);
    others.stop();
    void rejectLater("of no run");
    await turn();
    await turn();
    expect([reported, [...uncaught]]).toEqual([[], ["of no run"]]);
  });
});
