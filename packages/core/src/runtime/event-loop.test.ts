import { describe, expect, it } from "vitest";
import { nodeEventLoop, systemEventLoop, taskEventLoop } from "./event-loop.ts";

const hops = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i += 1) await null;
};
const turnEnd = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe.each([
  ["one tick for all callbacks", nodeEventLoop()],
  ["one tick for each callback", nodeEventLoop(null)],
  ["a platform function that settles nothing", nodeEventLoop(() => undefined)],
])("whenIdle, %s", (_, eventLoop) => {
  it("whenIdle calls back after all pending promise continuations, even long chains", async () => {
    const order: string[] = [];
    void hops(1_000).then(() => order.push("long chain"));
    eventLoop.whenIdle(() => order.push("idle"));
    void hops(3).then(() => order.push("short chain"));
    await turnEnd();
    expect(order).toEqual(["short chain", "long chain", "idle"]);
  });

  it("whenIdle calls back after continuations that other continuations started", async () => {
    const order: string[] = [];
    eventLoop.whenIdle(() => order.push("idle"));
    void (async () => {
      await null;
      void Promise.all([hops(50), hops(70)]).then(async () => {
        await new Promise<void>((resolve) => queueMicrotask(resolve));
        order.push("started later");
      });
    })();
    await turnEnd();
    expect(order).toEqual(["started later", "idle"]);
  });

  it("whenIdle calls back before the end of the turn and before any timer or I/O", async () => {
    const order: string[] = [];
    setImmediate(() => order.push("check phase"));
    eventLoop.afterTurn(() => order.push("turn end"));
    await hops(5);
    eventLoop.whenIdle(() => order.push("idle"));
    await turnEnd();
    expect(order).toEqual(["idle", "check phase", "turn end"]);
  });

  it("a nested whenIdle calls back after the continuations that the outer callback started", async () => {
    const order: string[] = [];
    eventLoop.whenIdle(() => {
      order.push("first");
      void hops(20).then(() => order.push("moved"));
      eventLoop.whenIdle(() => order.push("second"));
    });
    await turnEnd();
    expect(order).toEqual(["first", "moved", "second"]);
  });

  it("several nested whenIdle callbacks wait for the next idle moment", async () => {
    const order: string[] = [];
    eventLoop.whenIdle(() => {
      void hops(20).then(() => order.push("moved"));
      for (const name of ["a", "b", "c"]) eventLoop.whenIdle(() => order.push(name));
    });
    await turnEnd();
    expect(order).toEqual(["moved", "a", "b", "c"]);
  });

  it("continuations of the first callbacks run before the last of many callbacks is called", async () => {
    const order: string[] = [];
    for (let n = 0; n < 40; n += 1) {
      eventLoop.whenIdle(() => {
        order.push(`called ${n}`);
        void hops(20).then(() => order.push(`moved ${n}`));
        if (n === 1) eventLoop.whenIdle(() => order.push("scheduled meanwhile"));
      });
    }
    await turnEnd();
    expect(order.indexOf("moved 0")).toBeLessThan(order.indexOf("called 39"));
    expect(order.indexOf("moved 1")).toBeLessThan(order.indexOf("scheduled meanwhile"));
    expect(order.filter((each) => each.startsWith("called")).map((each) => Number(each.slice(7)))).toEqual(
      Array.from({ length: 40 }, (_, n) => n),
    );
    expect(order).toHaveLength(81);
  });

  it("whenIdle works the same from a timer, a tick and a microtask", async () => {
    for (const from of [setImmediate, process.nextTick, queueMicrotask]) {
      const order: string[] = [];
      await new Promise<void>((resolve) => {
        from(() => {
          eventLoop.whenIdle(() => {
            order.push("idle");
            resolve();
          });
          void hops(10).then(() => order.push("moved"));
        });
      });
      expect(order).toEqual(["moved", "idle"]);
    }
  });

  it("whenIdle can be called again from its callback, a thousand times", async () => {
    const order: string[] = [];
    const again = (left: number): void => {
      void hops(3).then(() => order.push(`moved ${left}`));
      if (left > 0) eventLoop.whenIdle(() => again(left - 1));
    };
    again(1_000);
    await turnEnd();
    expect(order).toEqual(Array.from({ length: 1_001 }, (_, index) => `moved ${1_000 - index}`));
  });

  it("a callback that throws does not prevent the others from being called", async () => {
    const thrown = new Promise((resolve) => process.once("uncaughtException", resolve));
    const listeners = process.listeners("uncaughtException").slice(0, -1);
    for (const listener of listeners) process.off("uncaughtException", listener);
    const order: string[] = [];
    eventLoop.whenIdle(() => {
      eventLoop.whenIdle(() => order.push("scheduled by the callback that throws"));
      throw new Error("thrown");
    });
    for (const name of ["a", "b"]) eventLoop.whenIdle(() => order.push(name));
    expect(await thrown).toEqual(new Error("thrown"));
    await turnEnd();
    for (const listener of listeners) process.on("uncaughtException", listener);
    expect(order.sort()).toEqual(["a", "b", "scheduled by the callback that throws"]);
  });

  it("whenIdle callbacks are called in FIFO order", async () => {
    const order: number[] = [];
    for (let n = 0; n < 5; n += 1) eventLoop.whenIdle(() => order.push(n));
    await turnEnd();
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });
});

describe("the event loop of a browser", () => {
  const tasks = taskEventLoop();

  it.skipIf("deno" in process.versions)(
    "a browser turn ends after all whenIdle callbacks, which follow all continuations (not on Deno, whose ports deliver between continuations)",
    async () => {
      const order: string[] = [];
      await new Promise<void>((resolve) => {
        tasks.afterTurn(() => {
          order.push("turn end");
          resolve();
        });
        tasks.whenIdle(() => {
          order.push("idle");
          void hops(20).then(() => order.push("moved"));
        });
        void hops(100).then(() => order.push("long chain"));
      });
      expect(order).toEqual(["long chain", "idle", "moved", "turn end"]);
    },
  );

  it("systemEventLoop uses the event loop of Node on Node", async () => {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      setImmediate(() => order.push("check phase"));
      systemEventLoop().afterTurn(resolve);
    });
    expect(order).toEqual(["check phase"]);
  });
});
