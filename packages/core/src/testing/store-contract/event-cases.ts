import { append, completed, control, DAY_MS, event, message, newRun, post, suspended, T0 } from "./builders.ts";
import type { Case } from "./trial.ts";

export const eventCases: readonly Case[] = [
  {
    name: "an event goes to the run that has waited longest, which becomes ready and stops waiting",
    run: async (t) => {
      for (const id of ["a", "b"]) await t.waiting(id, { topics: ["t"] });
      const first = await t.applied(post(event("t", "e1")));
      t.expect(first.wakes).toMatchObject([{ runId: "a", owner: "w" }]);
      t.expect(await t.posted(event("t", "e2"))).toEqual({ kind: "delivered", runs: 1 });
      t.expect(await t.posted(event("t", "e3"))).toEqual({ kind: "queued" });
      t.expect([await t.inboxIds("a"), await t.inboxIds("b")]).toEqual([["event:e1"], ["event:e2"]]);
      t.expect((await t.inbox("a"))[0]).toMatchObject({ n: 1, kind: "event", name: "t", value: '"e1"', at: T0 });
    },
  },
  {
    name: "a pending event is delivered to a run that waits for it later",
    run: async (t) => {
      t.expect(await t.posted(event("t", "e"))).toEqual({ kind: "queued" });
      await t.owned("r", "s");
      const { wakes } = await t.applied(append("r", { state: suspended({ topics: ["t"], until: T0 + 50 }) }));
      t.expect(wakes).toMatchObject([{ runId: "r", owner: "w" }]);
      t.expect(await t.run("r")).toMatchObject({ wakeAt: T0, inboxLast: 1, status: "suspended" });
      await t.applied(append("s", { state: suspended({ topics: ["t"], until: T0 + 50 }) }));
      t.expect(await t.run("s")).toMatchObject({ wakeAt: T0 + 50, inboxLast: 0 });
    },
  },
  {
    name: "an event and a wait in one batch match in either order",
    run: async (t) => {
      await t.owned("a", "b");
      const suspend = (id: string) => append(id, { state: suspended({ topics: [id] }) });
      await t.applied(suspend("a"), post(event("a", "e1")), post(event("b", "e2")), suspend("b"));
      t.expect((await t.due("w", 10)).sort()).toEqual(["a", "b"]);
    },
  },
  {
    name: "an event with consume: all is delivered to every waiter once",
    run: async (t) => {
      for (const id of ["a", "b", "c"]) await t.waiting(id, { topics: ["t", `only-${id}`] });
      const { answers, wakes } = await t.commit(post(event("t", "e", { consume: "all" })));
      t.expect(answers).toEqual([{ kind: "applied", post: { kind: "delivered", runs: 3 }, again: false }]);
      t.expect(wakes.map((wake) => wake.runId).sort()).toEqual(["a", "b", "c"]);
      t.expect(await t.posted(event("only-a", "gone", { deliver: "afterWait" }))).toEqual({ kind: "dropped" });
    },
  },
  {
    name: "an event with consume: all stays pending for later waiters, and is delivered to each run at most once",
    run: async (t) => {
      await t.waiting("early", { topics: ["t"] });
      t.expect(await t.posted(event("t", "e1", { consume: "all" }))).toEqual({ kind: "delivered", runs: 1 });
      await t.applied(append("early", { turn: 2, taken: [1], state: suspended({ topics: ["t"] }, 1) }));
      t.expect(await t.inboxIds("early")).toEqual([]);
      await t.waiting("late", { topics: ["t"] });
      t.expect(await t.inboxIds("late")).toEqual(["event:e1"]);
      t.expect(await t.posted(event("t", "e2", { consume: "all" }))).toEqual({ kind: "delivered", runs: 1 });
      await t.applied(append("late", { turn: 2, taken: [1], state: suspended({ topics: ["t"] }, 1) }));
      t.expect(await t.inboxIds("late")).toEqual(["event:e2"]);
    },
  },
  {
    name: "an event with consume: all is not delivered again after the ids of received entries are pruned",
    run: async (t) => {
      await t.waiting("r", { topics: ["t"] });
      await t.posted(event("t", "e", { consume: "all" }));
      await t.applied(append("r", { turn: 2, taken: [1], state: suspended({}, 1) }));
      await t.store.prune({ runsEndedBefore: null, receivedBefore: T0 + 1, limit: 100 });
      await t.applied(append("r", { turn: 3, state: suspended({ topics: ["t"] }, 1) }));
      t.expect(await t.inboxIds("r")).toEqual([]);
    },
  },
  {
    name: "pending events over all topics of a wait are delivered oldest first, one at a time",
    run: async (t) => {
      for (const [topic, id] of [
        ["b", "e1"],
        ["a", "e2"],
        ["b", "e3"],
      ] as const)
        await t.posted(event(topic, id));
      await t.waiting("r", { topics: ["a", "b"] });
      t.expect(await t.inboxIds("r")).toEqual(["event:e1"]);
      await t.applied(append("r", { turn: 2, taken: [1], state: suspended({ topics: ["a", "b"] }, 1) }));
      t.expect(await t.inboxIds("r")).toEqual(["event:e2"]);
    },
  },
  {
    name: "an event with deliver: afterWait is dropped when no run waits, and is not delivered later",
    run: async (t) => {
      t.expect(await t.posted(event("t", "e", { deliver: "afterWait" }))).toEqual({ kind: "dropped" });
      await t.waiting("r", { topics: ["t"] });
      t.expect(await t.inboxIds("r")).toEqual([]);
      t.expect(await t.posted(event("t", "e2", { deliver: "afterWait" }))).toEqual({ kind: "delivered", runs: 1 });
      t.expect(await t.letterReasons()).toEqual([]);
    },
  },
  {
    name: "an event with deliver: afterCreate is not delivered to runs created later",
    run: async (t) => {
      await t.applied({ kind: "create", run: { ...base("older"), createdAt: T0 } });
      await t.posted(event("t", "e", { deliver: "afterCreate", at: T0 }));
      await t.applied({ kind: "create", run: { ...base("younger"), createdAt: T0 + 1 } });
      for (const id of ["younger", "older"]) await t.applied(append(id, { state: suspended({ topics: ["t"] }) }));
      t.expect([await t.inboxIds("younger"), await t.inboxIds("older")]).toEqual([[], ["event:e"]]);
    },
  },
  {
    name: "an expired event is not delivered and becomes a dead letter",
    run: async (t) => {
      await t.posted(event("t", "e", { expireAt: T0 + 10 }));
      await t.posted(event("t", "all", { expireAt: T0 + 10, consume: "all" }));
      await t.posted(event("t", "fresh", { expireAt: T0 + 11 }));
      t.world.advance(10);
      await t.waiting("r", { topics: ["t"] });
      t.expect(await t.inboxIds("r")).toEqual(["event:fresh"]);
      const pruned = await t.store.prune({ runsEndedBefore: null, receivedBefore: null, limit: 10 });
      t.expect(pruned).toEqual({ runs: 0, entries: 0, expired: 2, letters: 0, done: true });
      t.expect(await t.letterReasons()).toEqual(["expired", "expired"]);
    },
  },
  {
    name: "an expired event with consume: all leaves no dead letter if a run received it",
    run: async (t) => {
      await t.waiting("r", { topics: ["t"] });
      await t.posted(event("t", "e", { expireAt: T0 + 10, consume: "all" }));
      t.world.advance(10);
      t.expect((await t.store.prune({ runsEndedBefore: null, receivedBefore: null, limit: 10 })).expired).toBe(1);
      t.expect(await t.letterReasons()).toEqual([]);
    },
  },
  {
    name: "the oldest pending events of a topic become dead letters when the limit of the topic is exceeded",
    run: async (t) => {
      for (const id of ["e1", "e2", "e3", "e4"]) {
        t.expect(await t.posted(event("t", id, { pendingMax: 2 }))).toEqual({ kind: "queued" });
      }
      await t.posted(event("other", "x", { pendingMax: 2 }));
      const { items } = await t.store.reader.deadLetters({ limit: 10 });
      t.expect(items.map(({ id, reason, target, value }) => [id, reason, target, value])).toEqual([
        ["e2", "overflow", "t", '"e2"'],
        ["e1", "overflow", "t", '"e1"'],
      ]);
      await t.waiting("r", { topics: ["t"] });
      await t.posted(event("t", "e5", { pendingMax: 2 }));
      t.expect((await t.letterReasons()).length).toBe(2);
    },
  },
  {
    name: "an unreceived event of an ended run goes to the next waiter, or back to its old place in its topic",
    run: async (t) => {
      await t.waiting("a", { topics: ["t"] });
      await t.posted(event("t", "e1"));
      await t.waiting("b", { topics: ["t"] });
      const ended = await t.applied(append("a", { turn: 2, state: completed() }));
      t.expect(ended.wakes).toMatchObject([{ runId: "b", owner: "w" }]);
      t.expect(await t.inbox("b")).toEqual([
        {
          n: 1,
          kind: "event",
          id: "event:e1",
          name: "t",
          value: '"e1"',
          status: null,
          at: T0,
          onTargetTerminated: "discard",
        },
      ]);
      await t.posted(event("t", "e2"));
      await t.applied(control("b"));
      await t.waiting("c", { topics: ["t"] });
      t.expect(await t.inboxIds("c")).toEqual(["event:e1"]);
    },
  },
  {
    name: "an unreceived event of an ended run becomes a dead letter if its delivery policy excludes later waiters",
    run: async (t) => {
      await t.waiting("a", { topics: ["t"] });
      await t.posted(event("t", "e1", { deliver: "afterWait" }));
      await t.waiting("b", { topics: ["t"] });
      await t.posted(event("t", "e2", { deliver: "afterWait", consume: "all" }));
      await t.waiting("c", { topics: ["t"] });
      await t.posted(event("t", "e3"));
      await t.applied(
        append("a", { turn: 2, state: completed() }),
        append("b", { turn: 2, state: completed() }),
        append("c", { turn: 2, taken: [1], state: completed() }),
      );
      const { items } = await t.store.reader.deadLetters({ limit: 10 });
      t.expect(items.map(({ id, reason, status }) => [id, reason, status])).toEqual([
        ["e1", "targetTerminated", "completed"],
      ]);
      await t.waiting("d", { topics: ["t"] });
      t.expect(await t.inboxIds("d")).toEqual([]);
    },
  },
  {
    name: "a run that stays subscribed keeps its place in the topic, and a run that was made ready goes to the end",
    run: async (t) => {
      await t.waiting("a", { topics: ["t", "u"] });
      await t.waiting("b", { topics: ["t"] });
      await t.applied(append("a", { turn: 2, state: suspended({ topics: ["t"], messages: ["approve"] }) }));
      await t.posted(event("t", "e1"));
      t.expect([await t.inboxIds("a"), await t.inboxIds("b")]).toEqual([["event:e1"], []]);
      await t.applied(append("a", { turn: 3, taken: [1], state: suspended({ topics: ["t"] }, 1) }));
      await t.posted(event("t", "e2"));
      t.expect([await t.inboxIds("a"), await t.inboxIds("b")]).toEqual([[], ["event:e2"]]);
    },
  },
  {
    name: "a run that is ready, paused or released receives no event",
    run: async (t) => {
      await t.waiting("ready", { topics: ["t"], messages: ["approve"] });
      await t.posted(message("ready", "m"));
      await t.waiting("paused", { topics: ["t"] });
      await t.applied(control("paused", { state: { status: "paused", reason: null } }));
      await t.waiting("released", { topics: ["t"] });
      await t.applied(append("released", { turn: 2, state: { status: "released", at: T0 } }));
      t.expect(await t.posted(event("t", "e", { deliver: "afterWait" }))).toEqual({ kind: "dropped" });
    },
  },
  {
    name: "a topic named twice in a wait counts once",
    run: async (t) => {
      await t.waiting("r", { topics: ["t", "t"] });
      t.expect(await t.posted(event("t", "e", { consume: "all" }))).toEqual({ kind: "delivered", runs: 1 });
      t.expect(await t.inboxIds("r")).toEqual(["event:e"]);
    },
  },
  {
    name: "each of 1,000 waiters receives an event with consume: all once",
    run: async (t) => {
      const ids = Array.from({ length: 1000 }, (_, index) => `r${index}`);
      await t.owned(...ids);
      await t.applied(...ids.map((id) => append(id, { state: suspended({ topics: ["t"] }) })));
      const { wakes, answers } = await t.commit(post(event("t", "e", { consume: "all", expireAt: T0 + DAY_MS })));
      t.expect(answers).toEqual([{ kind: "applied", post: { kind: "delivered", runs: 1000 }, again: false }]);
      t.expect(wakes.map((wake) => wake.runId).sort()).toEqual([...ids].sort());
      t.expect(await t.posted(event("t", "e", { consume: "all" }))).toEqual({ kind: "duplicate" });
    },
  },
  {
    name: "an event copied with an inbox does not return to its topic when the run with the copy ends",
    run: async (t) => {
      await t.waiting("holder", { topics: ["t"] });
      await t.posted(event("t", "e"));
      const [entry] = await t.inbox("holder");
      if (entry === undefined) throw new Error("the event was not delivered");
      const { n: _n, ...copy } = entry;
      const history = { records: [], inbox: [copy], undo: "none" } as const;
      await t.applied({ kind: "create", run: newRun("copy", { owner: "w" }), history });
      await t.applied(append("copy", { state: completed() }));
      await t.waiting("late", { topics: ["t"] });
      t.expect([await t.inboxIds("holder"), await t.inboxIds("late")]).toEqual([["event:e"], []]);
    },
  },
];

function base(id: string) {
  const facts = { workflow: "order", version: 1, input: null, tags: [], parent: null, startId: `start-${id}` };
  return { id, ...facts, owner: "w", startAt: T0 };
}
