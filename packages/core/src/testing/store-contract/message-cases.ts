import type { Wake } from "../../model/transition.ts";
import {
  append,
  cancel,
  childEnd,
  completed,
  control,
  event,
  message,
  newRun,
  post,
  record,
  suspended,
  T0,
  wait,
} from "./builders.ts";
import type { Case } from "./trial.ts";

/** Sorts wake-ups by run, because a store may return them in any order. */
function byRun(wakes: readonly Wake[]): readonly Wake[] {
  return [...wakes].sort((left, right) => (left.runId < right.runId ? -1 : 1));
}

export const messageCases: readonly Case[] = [
  {
    name: "a message that a run waits for makes the run ready and wakes its owner",
    run: async (t) => {
      await t.waiting("r", { messages: ["approve"], until: T0 + 1000 });
      t.world.advance(10);
      const { answers, wakes } = await t.commit(post(message("r", "m")));
      t.expect(answers).toEqual([{ kind: "applied", post: { kind: "delivered", runs: 1 }, again: false }]);
      t.expect(wakes).toMatchObject([{ runId: "r", owner: "w" }]);
      t.expect(await t.run("r")).toMatchObject({ status: "suspended", wakeAt: T0 + 10, inboxLast: 1, owner: "w" });
      t.expect(await t.due("w", 10)).toEqual(["r"]);
    },
  },
  {
    name: "a wake-up contains the new inbox entries with their numbers",
    run: async (t) => {
      await t.waiting("r", { messages: ["go"] });
      const { wakes } = await t.commit(
        post(message("r", "a", { name: "go" })),
        post(message("r", "b", { name: "go" })),
      );
      t.expect(wakes).toMatchObject([
        {
          runId: "r",
          owner: "w",
          epoch: 1,
          entries: [
            { n: 1, id: "a" },
            { n: 2, id: "b" },
          ],
        },
      ]);
      t.expect(await t.store.dueRuns("w", 10)).toEqual([{ id: "r", inboxLast: 2 }]);
    },
  },
  {
    name: "a message that a run does not wait for is queued in its inbox without a wake-up",
    run: async (t) => {
      await t.waiting("r", { messages: ["other"], until: T0 + 1000 });
      const { answers, wakes } = await t.commit(post(message("r", "m")));
      t.expect(answers).toEqual([{ kind: "applied", post: { kind: "queued" }, again: false }]);
      t.expect(wakes).toEqual([]);
      t.expect((await t.run("r")).wakeAt).toBe(T0 + 1000);
      t.expect(await t.inbox("r")).toEqual([
        {
          n: 1,
          kind: "message",
          id: "m",
          name: "approve",
          value: '"m"',
          status: null,
          at: T0,
          onTargetTerminated: "discard",
        },
      ]);
    },
  },
  {
    name: "only the message that completes the wait of a suspended run is answered with delivered",
    run: async (t) => {
      await t.waiting("r", { messages: ["a", "b"], until: T0 + 1000 });
      const { answers } = await t.commit(
        post(message("r", "m1", { name: "a" })),
        post(message("r", "m2", { name: "a" })),
        post(message("r", "m3", { name: "b" })),
      );
      const kinds = answers.map((answer) => (answer.kind === "applied" ? answer.post?.kind : answer.kind));
      t.expect(kinds).toEqual(["delivered", "queued", "queued"]);
      t.world.advance(5);
      const later = await t.commit(post(message("r", "m4", { name: "b" })));
      t.expect(later.answers).toEqual([{ kind: "applied", post: { kind: "queued" }, again: false }]);
      t.expect(later.wakes).toMatchObject([{ runId: "r", owner: "w" }]);
      const state = suspended({ messages: ["a"] }, 4);
      await t.applied(append("r", { turn: 2, records: [record(1)], taken: [1], state }));
      t.expect(await t.posted(message("r", "m5", { name: "a" }))).toEqual({ kind: "delivered", runs: 1 });
    },
  },
  {
    name: "an awaited message is queued when the run is executed, or when its deadline has passed",
    run: async (t) => {
      await t.owned("running");
      const state = { status: "running", wait: wait({ messages: ["approve"] }), inboxSeen: 0 } as const;
      await t.applied(append("running", { state }));
      t.expect(await t.posted(message("running", "m"))).toEqual({ kind: "queued" });
      await t.waiting("late", { messages: ["approve"], until: T0 + 10 });
      t.world.advance(10);
      t.expect(await t.posted(message("late", "m"))).toEqual({ kind: "queued" });
      t.expect((await t.due("w", 10)).sort()).toEqual(["late", "running"]);
    },
  },
  {
    name: "a message sent before the wait makes the run ready when it suspends",
    run: async (t) => {
      await t.owned("r");
      t.expect(await t.posted(message("r", "m"))).toEqual({ kind: "queued" });
      const commit = await t.applied(append("r", { state: suspended({ messages: ["approve"], until: T0 + 99 }) }));
      t.expect(commit.wakes).toMatchObject([{ runId: "r", owner: "w" }]);
      t.expect((await t.run("r")).wakeAt).toBe(T0);
    },
  },
  {
    name: "a message that the run has seen does not wake it when it suspends",
    run: async (t) => {
      await t.owned("r");
      await t.sendUnawaited("r", "m");
      const commit = await t.applied(append("r", { state: suspended({ until: T0 + 99 }, 1) }));
      t.expect(commit.wakes).toEqual([]);
      t.expect(await t.run("r")).toMatchObject({ wakeAt: T0 + 99, inboxLast: 1 });
    },
  },
  {
    name: "a message makes the run ready whether it is sent before or after the suspension, in the same batch or another",
    run: async (t) => {
      await t.owned("a", "b", "c", "d");
      const suspend = (id: string) => append(id, { state: suspended({ messages: ["approve"] }) });
      const send = (id: string) => post(message(id, "m"));
      await t.applied(suspend("a"), send("a"));
      await t.applied(send("b"), suspend("b"));
      await t.applied(suspend("c"));
      await t.applied(send("c"));
      await t.applied(send("d"));
      await t.applied(suspend("d"));
      t.expect((await t.due("w", 10)).sort()).toEqual(["a", "b", "c", "d"]);
    },
  },
  {
    name: "a timeout decided before a message arrived is refused",
    run: async (t) => {
      await t.waiting("r", { messages: ["approve"], until: T0 + 10 });
      t.world.advance(10);
      t.expect(await t.posted(message("r", "m"))).toEqual({ kind: "queued" });
      const timedOut = append("r", {
        turn: 2,
        records: [record(1, { outcome: "timedOut" })],
        inbox: 0,
        notBefore: T0 + 10,
      });
      t.expect(await t.answer(timedOut)).toEqual({ kind: "refused", reason: "inbox", inboxLast: 1 });
      await t.applied(append("r", { records: [record(1)], taken: [1], inbox: 1 }));
    },
  },
  {
    name: "messages are received once each, in the order in which they were sent",
    run: async (t) => {
      await t.owned("r");
      for (let n = 1; n <= 5; n += 1) await t.posted(message("r", `m${n}`, { value: null, name: n % 2 ? "a" : "b" }));
      t.expect((await t.inbox("r")).map((entry) => entry.n)).toEqual([1, 2, 3, 4, 5]);
      await t.applied(append("r", { records: [record(1), record(2)], taken: [1, 4] }));
      t.expect(await t.inboxIds("r")).toEqual(["m2", "m3", "m5"]);
      t.expect((await t.store.load("r"))?.inbox.map((entry) => entry.n)).toEqual([2, 3, 5]);
      for (const [after, left] of [
        [0, [2, 3, 5]],
        [1, [2, 3, 5]],
        [2, [3, 5]],
        [4, [5]],
        [5, []],
        [9, []],
      ] as const) {
        t.expect((await t.store.load("r", 0, after))?.inbox.map((entry) => entry.n)).toEqual(left);
      }
      t.expect((await t.run("r")).inboxLast).toBe(5);
    },
  },
  {
    name: "unreceived messages of an ended run follow their own onTargetTerminated policy",
    run: async (t) => {
      await t.owned("r");
      await t.applied(
        post(message("r", "gone", { onTargetTerminated: "discard" })),
        post(message("r", "dead", { onTargetTerminated: "deadLetter", name: "pay" })),
        post(message("r", "shared", { onTargetTerminated: "broadcast", name: "news", value: '"v"' })),
        post(cancel("r")),
      );
      await t.applied(append("r", { state: completed() }));
      t.expect(await t.inbox("r")).toEqual([]);
      t.expect((await t.store.reader.deadLetters({ limit: 10 })).items).toEqual([
        {
          id: "r//dead",
          kind: "message",
          target: "r",
          name: "pay",
          value: '"dead"',
          reason: "targetTerminated",
          status: "completed",
          sentAt: T0,
          deadAt: T0,
        },
      ]);
      await t.waiting("later", { topics: ["news"] });
      t.expect((await t.inbox("later")).map(({ kind, name, value }) => [kind, name, value])).toEqual([
        ["event", "news", '"v"'],
      ]);
    },
  },
  {
    name: "messages to an ended run follow their policy, and messages from a run become dead letters",
    run: async (t) => {
      await t.completed("r");
      const ended = { kind: "targetTerminated", status: "completed" };
      await t.waiting("listener", { topics: ["news"] });
      t.expect(await t.posted(message("r", "m1"))).toEqual(ended);
      t.expect(await t.posted(message("r", "m2", { onTargetTerminated: "deadLetter" }))).toEqual(ended);
      t.expect(await t.posted(message("r", "m3", { onTargetTerminated: "broadcast", name: "news" }))).toEqual(ended);
      t.expect(await t.posted(message("r", "m4", { from: "x" }))).toEqual(ended);
      t.expect(await t.posted(message("none", "m5", { from: "x" }))).toEqual({ kind: "targetNotFound" });
      t.expect(await t.letterReasons()).toEqual(["targetNotFound", "targetTerminated", "targetTerminated"]);
      t.expect((await t.inbox("listener")).map((entry) => entry.value)).toEqual(['"m3"']);
    },
  },
  {
    name: "a cancel makes a running, suspended, paused or pending run ready",
    run: async (t) => {
      await t.owned("running");
      await t.waiting("suspended", { until: T0 + 1000 });
      await t.owned("paused");
      await t.applied(control("paused", { state: { status: "paused", reason: null } }));
      await t.applied({ kind: "create", run: newRun("pending", { startAt: T0 + 1000 }) });
      const commit = await t.applied(...["running", "suspended", "paused", "pending"].map((id) => post(cancel(id))));
      t.expect(byRun(commit.wakes)).toMatchObject([
        { runId: "paused", owner: null },
        { runId: "pending", owner: null },
        { runId: "running", owner: "w" },
        { runId: "suspended", owner: "w" },
      ]);
      t.expect((await t.due("w", 10)).sort()).toEqual(["running", "suspended"]);
      t.expect((await t.claimIds("v")).sort()).toEqual(["paused", "pending"]);
      t.expect((await t.inbox("paused")).map(({ kind, value }) => [kind, value])).toEqual([["cancel", '"stop"']]);
    },
  },
  {
    name: "a resume withdraws the requests to pause that the run has not received, and nothing else",
    run: async (t) => {
      await t.owned("r");
      await t.applied(post(cancel("r", "pause:1")), post(message("r", "m")), post(cancel("r", "stop")));
      await t.applied(control("r", { state: { status: "paused", reason: null } }));
      t.expect((await t.inbox("r")).map(({ id }) => id)).toEqual(["pause:1", "m", "stop"]);
      await t.applied(control("r", { epoch: 2, state: { status: "resumed", at: T0 }, controlId: "resume" }));
      t.expect((await t.inbox("r")).map(({ id }) => id)).toEqual(["m", "stop"]);
      t.expect(await t.posted(cancel("r", "pause:1"))).toEqual({ kind: "duplicate" });
    },
  },
  {
    name: "a request to pause does not make a paused run ready",
    run: async (t) => {
      await t.owned("r");
      await t.applied(control("r", { state: { status: "paused", reason: null } }));
      t.expect(await t.posted(cancel("r", "pause:1"))).toEqual({ kind: "duplicate" });
      t.expect([await t.inboxIds("r"), await t.claimIds("v")]).toEqual([[], []]);
    },
  },
  {
    name: "the end of a child wakes its parent only if the parent waits for children",
    run: async (t) => {
      await t.waiting("parent", { children: true });
      await t.waiting("busy", { messages: ["x"] });
      await t.owned("child");
      const { wakes } = await t.applied(
        append("child", {
          state: completed(),
          posts: [childEnd("parent", "child", "pay/card"), childEnd("busy", "child")],
        }),
      );
      t.expect(wakes).toMatchObject([{ runId: "parent", owner: "w" }]);
      t.expect(await t.inbox("parent")).toEqual([
        {
          n: 1,
          kind: "child",
          id: "child:pay/card:child",
          name: "pay/card",
          value: '"out"',
          status: "completed",
          at: T0,
          onTargetTerminated: "discard",
        },
      ]);
      t.expect(await t.inboxIds("busy")).toEqual(["child:child:child"]);
    },
  },
  {
    name: "a child that ends again after it was reopened notifies its parent again",
    run: async (t) => {
      await t.waiting("parent", { children: true });
      await t.owned("child");
      await t.applied(append("child", { state: completed(), posts: [childEnd("parent", "child")] }));
      await t.applied(append("parent", { turn: 2, taken: [1], state: suspended({ children: true }, 1) }));
      t.expect(await t.inboxIds("parent")).toEqual([]);
      const reopened = { status: "reopened", at: T0, version: null, undo: "none" } as const;
      await t.applied(control("child", { state: reopened }));
      const [again] = await t.claim("w");
      const end = append("child", {
        epoch: again?.epoch ?? 0,
        state: completed(),
        posts: [childEnd("parent", "child")],
      });
      const { wakes } = await t.applied(end);
      t.expect(wakes).toMatchObject([{ runId: "parent", owner: "w" }]);
      t.expect((await t.inbox("parent")).map(({ n, id }) => [n, id])).toEqual([[2, "child:child:child"]]);
      await t.answer(end);
      t.expect(await t.inboxIds("parent")).toEqual(["child:child:child"]);
    },
  },
  {
    name: "a child that received the cancel of its parent's end before receives it again",
    run: async (t) => {
      await t.owned("p");
      const parent = { runId: "p", location: "c", onClose: "cancel" } as const;
      await t.applied({ kind: "create", run: newRun("c", { owner: "v", parent }) });
      const close = { kind: "closeChildren", of: "p", reason: '"closed"', at: T0 } as const;
      await t.applied(append("p", { records: [record(1)], posts: [close] }));
      await t.applied(append("c", { taken: [1] }));
      t.expect(await t.inboxIds("c")).toEqual([]);
      await t.applied(append("p", { records: [record(2)], posts: [close] }));
      t.expect((await t.inbox("c")).map(({ n, id }) => [n, id])).toEqual([[2, "close:p"]]);
    },
  },
  {
    name: "a message, a child end and an event with one id are separate inbox entries",
    run: async (t) => {
      await t.waiting("r", { topics: ["t"] });
      await t.owned("x");
      t.expect(await t.posted(event("t", "e"))).toEqual({ kind: "delivered", runs: 1 });
      await t.applied(append("x", { posts: [childEnd("r", "c")] }));
      t.expect(await t.posted(message("r", "event:e"))).toEqual({ kind: "queued" });
      t.expect(await t.posted(message("r", "child:child:c"))).toEqual({ kind: "queued" });
      t.expect((await t.inbox("r")).length).toBe(4);
    },
  },
  {
    name: "a child start is idempotent, and wakes a worker only if the child is due",
    run: async (t) => {
      await t.owned("p", "q");
      const start = {
        kind: "start" as const,
        run: newRun("c", { parent: { runId: "p", location: "c", onClose: "cancel" } }),
      };
      const { wakes } = await t.applied(append("p", { records: [record(1)], posts: [start] }));
      t.expect(wakes).toMatchObject([{ runId: "c", owner: null }]);
      await t.applied(append("q", { posts: [{ ...start, run: { ...start.run, startId: "other", input: '"x"' } }] }));
      t.expect(await t.run("c")).toMatchObject({ status: "pending", startId: "start-c", parent: { runId: "p" } });
      const later = newRun("later", { startAt: T0 + 1 });
      t.expect((await t.applied(append("q", { posts: [{ kind: "start", run: later }] }))).wakes).toEqual([]);
    },
  },
  {
    name: "the end of a parent cancels its open children if their policy is cancel",
    run: async (t) => {
      await t.owned("p");
      const child = (id: string, onClose: "cancel" | "abandon") =>
        ({ kind: "create", run: newRun(id, { owner: "v", parent: { runId: "p", location: id, onClose } }) }) as const;
      await t.applied(child("c1", "cancel"), child("c2", "abandon"), child("c3", "cancel"), child("c4", "cancel"));
      await t.applied(append("c3", { state: completed() }));
      const close = { kind: "closeChildren", of: "p", reason: '"closed"', at: T0 } as const;
      const { wakes } = await t.applied(append("p", { state: completed(), posts: [close] }));
      t.expect(byRun(wakes)).toMatchObject([
        { runId: "c1", owner: "v" },
        { runId: "c4", owner: "v" },
      ]);
      t.expect(await t.inboxIds("c1")).toEqual(["close:p"]);
      t.expect([await t.inboxIds("c2"), await t.inboxIds("c3")]).toEqual([[], []]);
    },
  },
  {
    name: "the end of a parent ends a child that has not started, at once",
    run: async (t) => {
      await t.owned("p");
      const parent = { runId: "p", location: "c", onClose: "cancel" } as const;
      const later = { ...newRun("later", { parent }), startAt: T0 + 1 };
      await t.applied({ kind: "create", run: newRun("due", { parent }) }, { kind: "create", run: later });
      await t.applied(post(message("due", "m")));
      const close = { kind: "closeChildren", of: "p", reason: '"closed"', at: T0 } as const;
      await t.applied(append("p", { records: [record(1)], posts: [close] }));
      t.expect(await t.run("due")).toMatchObject({ status: "pending", endedAt: null });
      await t.applied(append("p", { state: completed(), posts: [{ ...close, isEnd: true }] }));
      for (const id of ["due", "later"]) {
        const ended = { status: "cancelled", endedAt: T0, outcome: '"closed"', owner: null, wakeAt: null, epoch: 2 };
        t.expect(await t.run(id)).toMatchObject(ended);
        t.expect(await t.inboxIds(id)).toEqual([]);
      }
      t.expect(await t.claimIds("v")).toEqual([]);
      t.expect(await t.answer(post(cancel("due")))).toMatchObject({ post: { kind: "targetTerminated" } });
    },
  },
  {
    name: "a message that a branch waits for wakes the run while another branch is running",
    run: async (t) => {
      await t.owned("r");
      await t.applied(
        append("r", { state: { status: "running", wait: wait({ messages: ["approve"] }), inboxSeen: 0 } }),
      );
      const { wakes } = await t.applied(post(message("r", "m")));
      t.expect(wakes).toMatchObject([{ runId: "r", owner: "w" }]);
      t.expect(await t.run("r")).toMatchObject({ status: "running", wakeAt: T0 });
    },
  },
];
