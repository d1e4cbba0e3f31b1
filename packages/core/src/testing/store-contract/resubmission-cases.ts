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

/** Sends the same transition twice. The second commit must return `answer` and change nothing. */
async function submitTwice(t: Trial, transition: Transition, answer: object, ...runIds: string[]): Promise<void> {
  await t.applied(transition);
  const before = await Promise.all(runIds.map((id) => t.snapshot(id)));
  const second = await t.commit(transition);
  t.expect(second).toEqual({ answers: [answer], wakes: [] });
  t.expect(await Promise.all(runIds.map((id) => t.snapshot(id)))).toEqual(before);
}

export const resubmissionCases: readonly Case[] = [
  {
    name: "a resent create gets the same answer, even if the run has ended since",
    run: async (t) => {
      await submitTwice(t, create("r", { owner: "w" }), AGAIN, "r");
      await t.applied(append("r", { state: completed() }));
      t.expect(await t.answer(create("r", { owner: "w" }))).toEqual(AGAIN);
      t.expect((await t.run("r")).status).toBe("completed");
    },
  },
  {
    name: "resent records are stored once",
    run: async (t) => {
      await t.owned("r");
      await submitTwice(t, append("r", { records: records(1, 3) }), AGAIN, "r");
      await submitTwice(t, append("r", { records: records(4, 2_203) }), AGAIN, "r");
      t.expect(await t.seqs("r")).toEqual(records(1, 2_203).map(({ seq }) => seq));
    },
  },
  {
    name: "resent records with posts deliver their posts once",
    run: async (t) => {
      await t.owned("r");
      await t.waiting("target", { messages: ["approve"], children: true });
      const posts = [message("target", "m"), childEnd("target", "c"), { kind: "start" as const, run: newRun("child") }];
      await submitTwice(t, append("r", { records: [record(1)], posts }), AGAIN, "r", "target", "child");
      t.expect(await t.inboxIds("target")).toEqual(["m", "child:child:c"]);
    },
  },
  {
    name: "a resent state is applied once, with its posts, documents and taken entries",
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
      await submitTwice(t, transition, AGAIN, "r", "target");
      t.expect(await t.inboxIds("r")).toEqual([]);
      t.expect(await t.inboxIds("target")).toEqual(["m"]);
    },
  },
  {
    name: "a resent terminal state gets the same answer",
    run: async (t) => {
      await t.owned("r");
      await submitTwice(t, append("r", { records: [record(1)], state: completed() }), AGAIN, "r");
    },
  },
  {
    name: "a resent release, pause or continuation is applied once",
    run: async (t) => {
      await t.owned("a", "b", "c");
      await submitTwice(t, append("a", { state: { status: "released", at: T0 } }), AGAIN, "a");
      await submitTwice(t, append("b", { state: { status: "paused", reason: null } }), AGAIN, "b");
      const fresh = { workflow: "order", version: 2, input: null, baseSeq: 1, at: T0 };
      const continued = append("c", { records: [record(1)], state: { status: "continued", ...fresh } });
      await submitTwice(t, continued, AGAIN, "c");
      t.expect((await t.run("c")).generation).toBe(1);
    },
  },
  {
    name: "a resent batch with several transitions of one run gets the same answers",
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
    name: "a resent control is applied once, even if it ended the run",
    run: async (t) => {
      await t.owned("r", "s");
      await submitTwice(t, control("r", { state: { status: "paused", reason: null } }), AGAIN, "r");
      await submitTwice(t, control("s"), AGAIN, "s");
      t.expect((await t.run("s")).epoch).toBe(2);
    },
  },
  {
    name: "a resent message is a duplicate while it is queued, after it is received and after the run ends",
    run: async (t) => {
      await t.owned("r");
      await submitTwice(t, post(message("r", "m", { from: "x" })), DUPLICATE, "r");
      await t.applied(append("r", { records: [record(1)], taken: [1] }));
      t.expect(await t.answer(post(message("r", "m", { from: "x" })))).toEqual(DUPLICATE);
      await t.applied(append("r", { state: completed() }));
      t.expect(await t.answer(post(message("r", "m", { from: "x" })))).toEqual(DUPLICATE);
      t.expect(await t.letterReasons()).toEqual([]);
    },
  },
  {
    name: "a resent event is a duplicate whether it is pending, received, dropped or a dead letter",
    run: async (t) => {
      await submitTwice(t, post(event("t", "pending")), DUPLICATE);
      await t.waiting("r", { topics: ["u"] });
      await submitTwice(t, post(event("u", "received")), DUPLICATE, "r");
      await submitTwice(t, post(event("v", "dropped", { deliver: "afterWait" })), DUPLICATE);
      await submitTwice(t, post(event("x", "dead", { pendingMax: 0 })), DUPLICATE);
      t.expect(await t.letterReasons()).toEqual(["overflow"]);
    },
  },
  {
    name: "a resent cancel and a resent child end add one inbox entry each",
    run: async (t) => {
      await t.owned("r", "x");
      await submitTwice(t, post(cancel("r")), DUPLICATE, "r");
      await t.applied(append("x", { posts: [childEnd("r", "c"), childEnd("r", "c")] }));
      t.expect(await t.inboxIds("r")).toEqual(["cancel-r", "child:child:c"]);
    },
  },
  {
    name: "a resent replay of a dead letter is a duplicate",
    run: async (t) => {
      await t.applied(post(event("t", "e", { pendingMax: 0 })));
      const replay: Transition = { kind: "letter", letterId: "e", post: event("t", "e") };
      await submitTwice(t, replay, DUPLICATE);
      await t.waiting("r", { topics: ["t"] });
      t.expect(await t.inboxIds("r")).toEqual(["event:e"]);
    },
  },
  {
    name: "a resent document is stored once",
    run: async (t) => {
      const change: Transition = { kind: "documents", documents: [{ put: document("k", "d") }] };
      await t.applied(change, change);
      t.expect((await t.store.reader.documents({ kind: "k", limit: 10 })).items.length).toBe(1);
    },
  },
  {
    name: "a resent undeliverable message leaves one dead letter",
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
