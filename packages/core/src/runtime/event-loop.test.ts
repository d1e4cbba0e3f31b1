import { describe, expect, it } from "vitest";
import { nodeEventLoop, systemEventLoop, taskEventLoop } from "./event-loop.ts";

const hops = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i += 1) await null;
};
const turnEnd = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe.each([
  ["brought about in one tick", nodeEventLoop()],
  ["waited for, a tick each", nodeEventLoop(null)],
  ["waited for where the platform's means do nothing", nodeEventLoop(() => undefined)],
])("rest, %s,", (_, eventLoop) => {
  it("comes after every promise continuation that is under way, however long the chains", async () => {
    const order: string[] = [];
    void hops(1_000).then(() => order.push("long chain"));
    eventLoop.whenIdle(() => order.push("rest"));
    void hops(3).then(() => order.push("short chain"));
    await turnEnd();
    expect(order).toEqual(["short chain", "long chain", "rest"]);
  });

  it("comes after continuations that continuations have begun", async () => {
    const order: string[] = [];
    eventLoop.whenIdle(() => order.push("rest"));
    void (async () => {
      await null;
      void Promise.all([hops(50), hops(70)]).then(async () => {
        await new Promise<void>((resolve) => queueMicrotask(resolve));
        order.push("begun later");
      });
    })();
    await turnEnd();
    expect(order).toEqual(["begun later", "rest"]);
  });

  it("comes before the end of the turn and before any timer or I/O", async () => {
    const order: string[] = [];
    setImmediate(() => order.push("check phase"));
    eventLoop.afterTurn(() => order.push("turn end"));
    await hops(5);
    eventLoop.whenIdle(() => order.push("rest"));
    await turnEnd();
    expect(order).toEqual(["rest", "check phase", "turn end"]);
  });

  it("asked for at rest comes at the next rest, after what the first has set in motion", async () => {
    const order: string[] = [];
    eventLoop.whenIdle(() => {
      order.push("first");
      void hops(20).then(() => order.push("moved"));
      eventLoop.whenIdle(() => order.push("second"));
    });
    await turnEnd();
    expect(order).toEqual(["first", "moved", "second"]);
  });

  it("asked for at rest by several comes for none of them before the next rest", async () => {
    const order: string[] = [];
    eventLoop.whenIdle(() => {
      void hops(20).then(() => order.push("moved"));
      for (const name of ["a", "b", "c"]) eventLoop.whenIdle(() => order.push(name));
    });
    await turnEnd();
    expect(order).toEqual(["moved", "a", "b", "c"]);
  });

  it("lets what the first have set in motion go on before the last of many is called", async () => {
    const order: string[] = [];
    for (let n = 0; n < 40; n += 1) {
      eventLoop.whenIdle(() => {
        order.push(`called ${n}`);
        void hops(20).then(() => order.push(`moved ${n}`));
        if (n === 1) eventLoop.whenIdle(() => order.push("asked meanwhile"));
      });
    }
    await turnEnd();
    expect(order.indexOf("moved 0")).toBeLessThan(order.indexOf("called 39"));
    expect(order.indexOf("moved 1")).toBeLessThan(order.indexOf("asked meanwhile"));
    expect(order.filter((each) => each.startsWith("called")).map((each) => Number(each.slice(7)))).toEqual(
      Array.from({ length: 40 }, (_, n) => n),
    );
    expect(order).toHaveLength(81);
  });

  it("works the same when asked from a timer, a tick or a microtask", async () => {
    for (const from of [setImmediate, process.nextTick, queueMicrotask]) {
      const order: string[] = [];
      await new Promise<void>((resolve) => {
        from(() => {
          eventLoop.whenIdle(() => {
            order.push("rest");
            resolve();
          });
          void hops(10).then(() => order.push("moved"));
        });
      });
      expect(order).toEqual(["moved", "rest"]);
    }
  });

  it("comes again and again for who asks again and again", async () => {
    const order: string[] = [];
    const again = (left: number): void => {
      void hops(3).then(() => order.push(`moved ${left}`));
      if (left > 0) eventLoop.whenIdle(() => again(left - 1));
    };
    again(1_000);
    await turnEnd();
    expect(order).toEqual(Array.from({ length: 1_001 }, (_, index) => `moved ${1_000 - index}`));
  });

  it("comes for the others when one throws", async () => {
    const thrown = new Promise((resolve) => process.once("uncaughtException", resolve));
    const listeners = process.listeners("uncaughtException").slice(0, -1);
    for (const listener of listeners) process.off("uncaughtException", listener);
    const order: string[] = [];
    eventLoop.whenIdle(() => {
      eventLoop.whenIdle(() => order.push("asked by the one that throws"));
      throw new Error("thrown");
    });
    for (const name of ["a", "b"]) eventLoop.whenIdle(() => order.push(name));
    expect(await thrown).toEqual(new Error("thrown"));
    await turnEnd();
    for (const listener of listeners) process.on("uncaughtException", listener);
    expect(order.sort()).toEqual(["a", "asked by the one that throws", "b"]);
  });

  it("keeps the order in which it was asked for", async () => {
    const order: number[] = [];
    for (let n = 0; n < 5; n += 1) eventLoop.whenIdle(() => order.push(n));
    await turnEnd();
    expect(order).toEqual([0, 1, 2, 3, 4]);
  });
});

describe("the eventLoop of a browser", () => {
  const tasks = taskEventLoop();

  it.skipIf("deno" in process.versions)(
    "rest comes after every promise continuation, and the end of the turn after every rest that was asked for (not on Deno, whose ports deliver between continuations: there the eventLoop are Node's)",
    async () => {
      const order: string[] = [];
      await new Promise<void>((resolve) => {
        tasks.afterTurn(() => {
          order.push("turn end");
          resolve();
        });
        tasks.whenIdle(() => {
          order.push("rest");
          void hops(20).then(() => order.push("moved"));
        });
        void hops(100).then(() => order.push("long chain"));
      });
      expect(order).toEqual(["long chain", "rest", "moved", "turn end"]);
    },
  );

  it("are not Node's, whose own are taken here", async () => {
    const order: string[] = [];
    await new Promise<void>((resolve) => {
      setImmediate(() => order.push("check phase"));
      systemEventLoop().afterTurn(resolve);
    });
    expect(order).toEqual(["check phase"]);
  });
});
