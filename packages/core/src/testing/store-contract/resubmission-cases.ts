import type { Transition } from "../../model/transition.ts";
import {
  append,
  cancel,
  childEnd,
  completed,
  control,
  create,
  document,
  event,
  message,
  newRun,
  post,
  record,
  records,
  suspended,
  T0,
} from "./builders.ts";
import type { Case, Trial } from "./trial.ts";

const AGAIN = { kind: "applied", post: null, again: true };
const DUPLICATE = { kind: "applied", post: { kind: "duplicate" }, again: true };

/** Sends the same transition twice: the second answer says so, and nothing is different after it. */
async function sendTwice(t: Trial, transition: Transition, answer: object, ...runIds: string[]): Promise<void> {
  await t.applied(transition);
  const before = await Promise.all(runIds.map((id) => t.snapshot(id)));
  const second = await t.commit(transition);
  t.expect(second).toEqual({ answers: [answer], wakes: [] });
  t.expect(await Promise.all(runIds.map((id) => t.snapshot(id)))).toEqual(before);
}

export const resubmissionCases: readonly Case[] = [
  {
    name: "create sent again answers as before, also when the run has moved on",
    run: async (t) => {
      await sendTwice(t, create("r", { owner: "w" }), AGAIN, "r");
      await t.applied(append("r", { state: completed() }));
      t.expect(await t.answer(create("r", { owner: "w" }))).toEqual(AGAIN);
      t.expect((await t.run("r")).status).toBe("completed");
    },
  },
  {
    name: "records sent again are there once",
    run: async (t) => {
      await t.owned("r");
      await sendTwice(t, append("r", { records: records(1, 3) }), AGAIN, "r");
      await sendTwice(t, append("r", { records: records(4, 2_203) }), AGAIN, "r");
      t.expect(await t.seqs("r")).toEqual(records(1, 2_203).map(({ seq }) => seq));
    },
  },
  {
    name: "records with posts sent again post once",
    run: async (t) => {
      await t.owned("r");
      await t.waiting("target", { messages: ["approve"], children: true });
      const posts = [message("target", "m"), childEnd("target", "c"), { kind: "start" as const, run: newRun("child") }];
      await sendTwice(t, append("r", { records: [record(1)], posts }), AGAIN, "r", "target", "child");
      t.expect(await t.inboxIds("target")).toEqual(["m", "child:child:c"]);
    },
  },
  {
    name: "a state sent again is applied once, with its posts, documents and taken entries",
    run: async (t) => {
      await t.owned("r", "target");
      await t.sendUnawaited("r", "m1");
      const transition = append("r", {
        records: [record(1)],
        taken: [1],
        posts: [message("target", "m")],
        documents: [{ put: document("task", "t1", { runId: "r" }) }],
        state: suspended({ messages: ["x"] }, 1),
      });
      await sendTwice(t, transition, AGAIN, "r", "target");
      t.expect(await t.inboxIds("r")).toEqual([]);
      t.expect(await t.inboxIds("target")).toEqual(["m"]);
    },
  },
  {
    name: "a terminal state sent again answers as before",
    run: async (t) => {
      await t.owned("r");
      await sendTwice(t, append("r", { records: [record(1)], state: completed() }), AGAIN, "r");
    },
  },
  {
    name: "released, paused and continued sent again are applied once",
    run: async (t) => {
      await t.owned("a", "b", "c");
      await sendTwice(t, append("a", { state: { status: "released", at: T0 } }), AGAIN, "a");
      await sendTwice(t, append("b", { state: { status: "paused", reason: null } }), AGAIN, "b");
      const fresh = { workflow: "order", version: 2, input: null, baseSeq: 1, at: T0 };
      const continued = append("c", { records: [record(1)], state: { status: "continued", ...fresh } });
      await sendTwice(t, continued, AGAIN, "c");
      t.expect((await t.run("c")).generation).toBe(1);
    },
  },
  {
    name: "a whole batch sent again answers as before, with several transitions of one run in it",
    run: async (t) => {
      const batch = [
        create("r", { owner: "w" }),
        append("r", { records: [record(1)] }),
        append("r", { records: [record(2)], state: suspended({ topics: ["t"] }) }),
        append("r", { turn: 2, records: [record(3)], state: { status: "running", wait: null, inboxSeen: 0 } }),
        append("r", { turn: 2, records: [record(4)] }),
        append("r", { turn: 3, state: completed() }),
      ];
      await t.applied(...batch);
      const before = await t.snapshot("r");
      t.expect((await t.commit(...batch)).answers).toEqual(batch.map(() => AGAIN));
      t.expect(await t.snapshot("r")).toEqual(before);
    },
  },
  {
    name: "control sent again is applied once, also when it ended the run",
    run: async (t) => {
      await t.owned("r", "s");
      await sendTwice(t, control("r", { state: { status: "paused", reason: null } }), AGAIN, "r");
      await sendTwice(t, control("s"), AGAIN, "s");
      t.expect((await t.run("s")).epoch).toBe(2);
    },
  },
  {
    name: "a message sent again is a duplicate: while it lies there, after it was received, and after the run's end",
    run: async (t) => {
      await t.owned("r");
      await sendTwice(t, post(message("r", "m", { from: "x" })), DUPLICATE, "r");
      await t.applied(append("r", { records: [record(1)], taken: [1] }));
      t.expect(await t.answer(post(message("r", "m", { from: "x" })))).toEqual(DUPLICATE);
      await t.applied(append("r", { state: completed() }));
      t.expect(await t.answer(post(message("r", "m", { from: "x" })))).toEqual(DUPLICATE);
      t.expect(await t.letterReasons()).toEqual([]);
    },
  },
  {
    name: "an event sent again is a duplicate: pending, received, dropped and dead",
    run: async (t) => {
      await sendTwice(t, post(event("t", "pending")), DUPLICATE);
      await t.waiting("r", { topics: ["u"] });
      await sendTwice(t, post(event("u", "received")), DUPLICATE, "r");
      await sendTwice(t, post(event("v", "dropped", { deliver: "afterWait" })), DUPLICATE);
      await sendTwice(t, post(event("x", "dead", { pendingMax: 0 })), DUPLICATE);
      t.expect(await t.letterReasons()).toEqual(["overflow"]);
    },
  },
  {
    name: "a cancel and a child's end sent again are one entry each",
    run: async (t) => {
      await t.owned("r", "x");
      await sendTwice(t, post(cancel("r")), DUPLICATE, "r");
      await t.applied(append("x", { posts: [childEnd("r", "c"), childEnd("r", "c")] }));
      t.expect(await t.inboxIds("r")).toEqual(["cancel-r", "child:child:c"]);
    },
  },
  {
    name: "a letter replayed again answers that its post is there",
    run: async (t) => {
      await t.applied(post(event("t", "e", { pendingMax: 0 })));
      const replay: Transition = { kind: "letter", letterId: "e", post: event("t", "e") };
      await sendTwice(t, replay, DUPLICATE);
      await t.waiting("r", { topics: ["t"] });
      t.expect(await t.inboxIds("r")).toEqual(["event:e"]);
    },
  },
  {
    name: "documents sent again are the same",
    run: async (t) => {
      const change: Transition = { kind: "documents", documents: [{ put: document("k", "d") }] };
      await t.applied(change, change);
      t.expect((await t.store.reader.documents({ kind: "k", limit: 10 })).items.length).toBe(1);
    },
  },
  {
    name: "a message that could not be delivered and is sent again leaves one dead letter",
    run: async (t) => {
      await t.completed("r");
      for (const to of ["none", "r"]) {
        const undeliverable = post(message(to, "m", { from: "x" }));
        t.expect(await t.answer(undeliverable)).toEqual(await t.answer(undeliverable));
      }
      t.expect(await t.letterReasons()).toEqual(["targetTerminated", "targetNotFound"]);
    },
  },
];
