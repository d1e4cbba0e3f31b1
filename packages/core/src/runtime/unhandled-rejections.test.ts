import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { nodeEventLoop } from "./event-loop.ts";
import { trackUnhandledRejections, type UnhandledRejections } from "./unhandled-rejections.ts";

type Listener = (...args: unknown[]) => void;
const EVENTS = ["unhandledRejection", "uncaughtException"] as const;

const removed: Array<readonly [(typeof EVENTS)[number], Listener]> = [];
let told: unknown[] = [];
/** Once each: with `--unhandled-rejections=strict` a rejection comes as an exception by itself, too. */
let uncaught = new Set<unknown>();
let rejections: UnhandledRejections;

// The test runner listens, too, and would take the rejections for its own.
beforeEach(() => {
  for (const event of EVENTS) {
    for (const listener of process.listeners(event as "exit")) {
      removed.push([event, listener as Listener]);
      process.off(event, listener as Listener);
    }
  }
  [told, uncaught] = [[], new Set()];
  process.on("uncaughtException", (error) => uncaught.add(error.message));
  rejections = trackUnhandledRejections((runId, error) => told.push([runId, (error as Error).message]));
});

afterEach(() => {
  rejections.stop();
  for (const event of EVENTS) process.removeAllListeners(event);
  for (const [event, listener] of removed.splice(0)) process.on(event, listener);
});

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function stray(message: string): Promise<void> {
  await turn();
  throw new Error(message);
}

describe("a rejection that nobody handles", () => {
  it("in code that is watched is told of with its run, also when it comes eventLoop later", async () => {
    rejections.watched("a", () => void stray("of a"));
    rejections.watched("b", () => void stray("of b"));
    await turn();
    await turn();
    expect(told).toEqual([
      ["a", "of a"],
      ["b", "of b"],
    ]);
  });

  it("from elsewhere goes its usual way", async () => {
    void stray("of nobody");
    await turn();
    await turn();
    expect([told, [...uncaught]]).toEqual([[], ["of nobody"]]);
  });

  it("of what was made before anything was watched is nobody's, also where it comes to light in the rest that a run asked for", async () => {
    const eventLoop = nodeEventLoop();
    let reject = (_: Error): void => undefined;
    void new Promise((_, fail) => {
      reject = fail;
    });
    rejections.watched("a", () => eventLoop.whenIdle(() => reject(new Error("of nobody"))));
    await turn();
    await turn();
    expect([told, [...uncaught]]).toEqual([[], ["of nobody"]]);
  });

  it("that is not known to be anybody's is taken for one of the code that is not watched, while that is at work", async () => {
    rejections.watched("watched", () => void stray("of watched"));
    const over = rejections.unwatched("long", () => void stray("of long"));
    await turn();
    await turn();
    expect(told).toEqual([
      ["watched", "of watched"],
      ["long", "of long"],
    ]);
    over();
    void stray("of nobody");
    await turn();
    await turn();
    expect([told.length, uncaught.has("of nobody")]).toEqual([2, true]);
  });

  it("is told to nobody who has stopped", async () => {
    const others = trackUnhandledRejections(() => told.push("others"));
    others.unwatched("long", () => undefined);
    others.stop();
    void stray("of nobody");
    await turn();
    await turn();
    expect([told, [...uncaught]]).toEqual([[], ["of nobody"]]);
  });
});
