import { describe, expect, test } from "vitest";
import type { Entry, Line } from "../entry.ts";
import { EMPTY_OUTPUT } from "../load/inputs.ts";
import { failureText, worth } from "../load/run-output.ts";
import { check } from "./check.ts";
import { checkCompensation } from "./check-compensation.ts";
import type { Evidence, Finding, LetterDump, RecordDump, RunDump } from "./evidence.ts";

const LEASE_MS = 1_000;

type Begin = Extract<Entry, { kind: "begin" }>;

/** Entries become lines of worker-1 unless they name a process. */
function lines(entries: ReadonlyArray<Entry & { readonly process?: string }>): readonly Line[] {
  return entries.map((entry, index) => ({ process: "worker-1", ...entry, n: index + 1 }));
}

function record(seq: number, changes: Partial<RecordDump> = {}): RecordDump {
  return {
    seq,
    location: "first",
    kind: "step",
    outcome: "ok",
    attempts: 1,
    startedAt: 100,
    at: 200,
    detail: null,
    value: { value: worth("r", "first"), body: "b1" },
    error: null,
    digest: `d${seq}`,
    ...changes,
  };
}

/** A run of a workflow with one step. */
function run(changes: Partial<RunDump> = {}): RunDump {
  return {
    id: "r",
    workflow: "doomed",
    status: "completed",
    parent: null,
    generation: 0,
    baseSeq: 0,
    input: { salt: "r", napMs: 10 },
    output: { value: worth("r", "first"), bodies: ["b1"], received: [] },
    error: null,
    records: [record(1)],
    ...changes,
  };
}

function begin(changes: Partial<Begin> & { readonly process?: string } = {}): Begin {
  return {
    kind: "begin",
    body: "b1",
    run: "r",
    round: 0,
    location: "first",
    attempt: 1,
    epoch: 1,
    at: 100,
    ...changes,
  };
}

function end(body = "b1", outcome: "returned" | "threw" = "returned"): Entry {
  return { kind: "end", body, outcome, at: 190 };
}

const START: Entry = {
  kind: "acked",
  action: { kind: "start", run: "r", workflow: "doomed", input: { salt: "r", napMs: 10 } },
  answer: "started",
};

function evidence(changes: Partial<Evidence> = {}): Evidence {
  return {
    lines: lines([START, begin(), end()]),
    runs: [run()],
    letters: [],
    transactionRows: [],
    integrity: ["ok"],
    leaseMs: LEASE_MS,
    ...changes,
  };
}

function kinds(changes: Partial<Evidence>): ReadonlyArray<Finding["kind"]> {
  return check(evidence(changes)).findings.map(({ kind }) => kind);
}

test("a correct run has no findings", () => {
  expect(check(evidence()).findings).toEqual([]);
});

describe("calls", () => {
  test("an acknowledged start without a run is lost", () => {
    expect(kinds({ runs: [], lines: lines([START]) })).toEqual(["lost"]);
  });

  test("a run that has not ended is lost", () => {
    expect(kinds({ runs: [run({ status: "suspended", output: undefined })] })).toEqual(["lost"]);
  });

  test("a run that failed is wrong", () => {
    expect(kinds({ runs: [run({ status: "failed", output: undefined, error: "POISONED" })] })).toEqual(["wrong"]);
  });

  test("a result that does not follow from the input is wrong", () => {
    expect(kinds({ runs: [run({ output: { value: -5, bodies: ["b1"], received: [] } })] })).toEqual(["wrong"]);
  });

  test("a result that differs from the run's end is wrong", () => {
    const output: Entry = { kind: "result", run: "r", status: "cancelled", output: null };
    expect(kinds({ lines: lines([START, begin(), end(), output]) })).toEqual(["wrong"]);
  });

  test("an acknowledged cancel that did not end the run is lost", () => {
    const cancel: Entry = { kind: "acked", action: { kind: "cancel", run: "r" }, answer: "cancelled" };
    expect(kinds({ lines: lines([START, begin(), end(), cancel]) })).toEqual(["lost"]);
  });

  test("a cancelled run without a cancel request is wrong", () => {
    expect(kinds({ runs: [run({ status: "cancelled", output: undefined })] })).toEqual(["wrong"]);
  });
});

describe("journals", () => {
  test("a gap in the journal is a lost record", () => {
    const records = [record(1), record(3, { location: "sleep", kind: "sleep", value: undefined })];
    expect(kinds({ runs: [run({ records })] })).toEqual(["lost"]);
  });

  test("a location that two records complete is committed twice", () => {
    const records = [record(1), record(2)];
    expect(kinds({ runs: [run({ records })] })).toContain("twice");
  });

  test("a record that was reported as committed and is missing is lost", () => {
    const reported: Entry = { kind: "record", run: "r", seq: 2, location: "sleep", record: "sleep", digest: "d2" };
    expect(kinds({ lines: lines([START, begin(), end(), reported]) })).toEqual(["lost"]);
  });

  test("a record that two workers reported with different contents is committed twice", () => {
    const reported = (digest: string): Entry => {
      return { kind: "record", run: "r", seq: 1, location: "first", record: "step", digest };
    };
    expect(kinds({ lines: lines([START, begin(), end(), reported("d1"), reported("d9")]) })).toEqual(["twice"]);
  });

  test("records of an ended generation may be missing", () => {
    const reported: Entry = { kind: "record", run: "r", seq: 1, location: "turn-0", record: "step", digest: "d0" };
    const continued = run({ generation: 1, baseSeq: 1, records: [record(2)] });
    expect(kinds({ runs: [continued], lines: lines([START, begin(), end(), reported]) })).toEqual([]);
  });

  test("a sleep that ended too early is wrong", () => {
    const nap = record(2, { location: "sleep", kind: "sleep", value: undefined, startedAt: 200, at: 205 });
    expect(kinds({ runs: [run({ records: [record(1), nap] })] })).toEqual(["wrong"]);
  });

  test("two children at one location count as started twice", () => {
    const spawn = record(2, { location: "child", kind: "spawn", value: "r//child", detail: "r//child" });
    const parent = { runId: "r", location: "child" };
    const child = { parent, status: "cancelled", output: undefined, records: [] } as const;
    const runs = [run({ records: [record(1), spawn] }), run({ ...child, id: "r//child" })];
    expect(kinds({ runs })).toEqual([]);
    expect(kinds({ runs: [...runs, run({ ...child, id: "r//child2" })] })).toContain("twice");
  });

  test("a recorded child that does not exist is lost", () => {
    const spawn = record(2, { location: "child", kind: "spawn", value: "r//child", detail: "r//child" });
    expect(kinds({ runs: [run({ records: [record(1), spawn] })] })).toEqual(["lost"]);
  });
});

describe("bodies", () => {
  const again = (changes: Partial<Begin> = {}) => ({
    ...begin({ body: "b2", epoch: 2, at: 2_000, ...changes }),
    process: "worker-2",
  });
  const heartbeat = (sentAt: number, alive = true): Entry => ({ kind: "heartbeat", sentAt, at: sentAt + 2, alive });
  const byTheSecond = run({
    output: { value: worth("r", "first"), bodies: ["b2"], received: [] },
    records: [record(1, { value: { value: worth("r", "first"), body: "b2" } })],
  });

  test("a duplicate after an expired lease is no finding, but is counted", () => {
    const verdict = check(
      evidence({ runs: [byTheSecond], lines: lines([START, heartbeat(50), begin(), again(), end("b2")]) }),
    );
    expect(verdict.findings).toEqual([]);
    expect(verdict.duplicates).toBe(1);
  });

  test("a duplicate without an expired lease is a finding", () => {
    const heartbeats = [50, 400, 800, 1_200, 1_600, 2_000].map((at) => heartbeat(at));
    expect(kinds({ runs: [byTheSecond], lines: lines([START, ...heartbeats, begin(), again(), end("b2")]) })).toEqual([
      "duplicate",
    ]);
  });

  test("a duplicate is a finding if the lease expired before the first body started", () => {
    const heartbeats = [heartbeat(50), heartbeat(1_900, false), heartbeat(2_100), heartbeat(2_500), heartbeat(2_900)];
    const late = [begin({ at: 1_950 }), again({ at: 2_600 }), end("b2")];
    expect(kinds({ runs: [byTheSecond], lines: lines([START, ...heartbeats, ...late]) })).toEqual(["duplicate"]);
  });

  test("a duplicate with the same epoch is always a finding", () => {
    const entries = [START, heartbeat(50), begin(), again({ epoch: 1 }), end("b2")];
    expect(kinds({ runs: [byTheSecond], lines: lines(entries) })).toEqual(["duplicate"]);
  });

  test("a duplicate after a shutdown is no finding", () => {
    const heartbeats = [50, 400, 800, 1_200, 1_600, 2_000].map((at) => heartbeat(at));
    const asked: Entry = { kind: "signal", signal: "SIGTERM", at: 500 };
    const entries = [START, ...heartbeats, begin(), asked, again(), end("b2")];
    expect(kinds({ runs: [byTheSecond], lines: lines(entries) })).toEqual([]);
  });

  test("a body with a higher epoch than its commit counts as executed twice", () => {
    expect(kinds({ lines: lines([START, heartbeat(50), begin(), end(), again()]) })).toEqual(["twice"]);
  });

  test("a record without a body is wrong", () => {
    expect(kinds({ lines: lines([START, begin()]) })).toEqual(["wrong"]);
    expect(kinds({ lines: lines([START]) })).toEqual(["wrong"]);
  });

  const failed = (at: number, next: Partial<Begin>): Partial<Evidence> => {
    const retry = record(1, { kind: "retry", outcome: "failed", error: failureText("b0"), value: undefined });
    const done = record(2, { attempts: 2, at: 700 });
    return {
      runs: [run({ records: [{ ...retry, detail: String(at) }, done] })],
      lines: lines([START, begin({ body: "b0" }), end("b0", "threw"), begin({ attempt: 2, at: 600, ...next }), end()]),
    };
  };

  test("an attempt after a recorded failure and its delay is no finding", () => {
    expect(kinds(failed(600, {}))).toEqual([]);
  });

  test("an attempt before its delay has passed is wrong", () => {
    expect(kinds(failed(601, {}))).toEqual(["wrong"]);
  });

  test("an attempt that is repeated after its failure was committed is committed twice", () => {
    const { runs = [], lines: before = [] } = failed(600, { epoch: 2 });
    const repeated = { ...begin({ body: "b7", epoch: 2, at: 2_000 }), process: "worker-2", n: 9 };
    expect(kinds({ runs, lines: [...before, repeated] })).toContain("twice");
  });

  test("a step of a chain that starts before the previous step is committed is wrong", () => {
    const salt = "r";
    const names = ["s0", "s1", "light", "last"];
    const value = names.reduce((sum, name) => sum + worth(salt, name), 0);
    const records = names.map((location, index) => {
      return record(index + 1, { location, value: { value: worth(salt, location), body: location } });
    });
    const chain = run({
      workflow: "chain",
      input: { salt, steps: 2, fails: 0, napMs: 10, hopeless: false },
      output: { value, bodies: names, received: [] },
      records,
    });
    const bodies = (epochOf: (name: string) => number) =>
      lines(names.flatMap((name) => [begin({ body: name, location: name, epoch: epochOf(name) }), end(name)]));
    expect(kinds({ runs: [chain], lines: bodies(() => 2) })).toEqual([]);
    expect(kinds({ runs: [chain], lines: bodies((name) => (name === "s1" ? 1 : 2)) })).toEqual(["wrong"]);
  });
});

describe("messages and events", () => {
  const sent = (k: number): Entry => ({
    kind: "sent",
    action: { kind: "send", to: "m", name: "note", id: `c.note.${k}` },
  });
  const acked = (k: number, answer = "queued"): Entry => {
    return { kind: "acked", action: { kind: "send", to: "m", name: "note", id: `c.note.${k}` }, answer };
  };
  const listened = (seq: number, id: string): RecordDump => {
    return record(seq, { location: `note#${seq}`, kind: "listen", attempts: 0, value: { value: { id }, id } });
  };
  const mailbox = (ids: readonly string[]): RunDump =>
    run({
      id: "m",
      status: "cancelled",
      parent: { runId: "none", location: "none" },
      output: undefined,
      records: ids.map((id, index) => listened(index + 1, id)),
    });
  const findingsOf = (ids: readonly string[], entries: readonly Entry[], letters: readonly LetterDump[] = []) =>
    kinds({ runs: [mailbox(ids)], lines: lines(entries), letters }).filter((kind) => kind !== "wrong");

  test("an acknowledged and received message is no finding", () => {
    expect(findingsOf(["c.note.0"], [sent(0), acked(0)])).toEqual([]);
  });

  test("an acknowledged message that no run received is lost", () => {
    expect(findingsOf([], [sent(0), acked(0)])).toEqual(["lost"]);
  });

  test("a message without an answer may be lost", () => {
    expect(findingsOf([], [sent(0)])).toEqual([]);
  });

  test("a message that is a dead letter is not lost", () => {
    expect(findingsOf([], [sent(0), acked(0)], [{ kind: "message", target: "m", id: "c.note.0" }])).toEqual([]);
  });

  test("a received message that is also a dead letter counts twice", () => {
    const letters = [{ kind: "message", target: "m", id: "c.note.0" }] as const;
    expect(findingsOf(["c.note.0"], [sent(0), acked(0)], letters)).toEqual(["twice"]);
  });

  test("a message that was received twice counts twice", () => {
    expect(findingsOf(["c.note.0", "c.note.0"], [sent(0), acked(0)])).toEqual(["twice"]);
  });

  const texts = (ids: readonly string[], entries: readonly Entry[]): string => {
    const { findings } = check(evidence({ runs: [mailbox(ids)], lines: lines(entries) }));
    return findings.map(({ text }) => text).join("\n");
  };

  test("messages of one sender in another order are wrong", () => {
    const entries = [sent(0), acked(0), sent(1), acked(1)];
    expect(texts(["c.note.1", "c.note.0"], entries)).toContain("received c.note.0 after c.note.1");
    expect(texts(["c.note.0", "c.note.1"], entries)).not.toContain("after");
  });

  test("a received message that was not sent is wrong", () => {
    expect(texts(["c.note.5"], [])).toContain("was not sent");
  });

  test("the answer targetNotFound is wrong", () => {
    expect(texts([], [sent(0), acked(0, "targetNotFound")])).toContain("was answered with targetNotFound");
  });

  test("an event for all waiters may be received once by each run", () => {
    const action = { kind: "emit", topic: "c-bell", id: "c.c-bell.0", consume: "all" } as const;
    const entries: readonly Entry[] = [
      { kind: "sent", action },
      { kind: "acked", action, answer: "delivered" },
    ];
    const got = mailbox(["c.c-bell.0"]);
    const twice = (runs: readonly RunDump[]) =>
      check(evidence({ runs, lines: lines(entries) })).findings.filter(({ kind }) => kind === "twice");
    expect(twice([got, { ...got, id: "m2", parent: { runId: "none", location: "other" } }])).toEqual([]);
    expect(twice([mailbox(["c.c-bell.0", "c.c-bell.0"])])).toHaveLength(1);
  });
});

describe("processes", () => {
  const exit = (code: number | null, asked: boolean): Entry => ({ kind: "exit", code, asked });
  const signal = (name: NodeJS.Signals): Entry => ({ kind: "signal", signal: name, at: 500 });
  const ends = (...entries: readonly Entry[]) => kinds({ lines: lines([START, begin(), end(), ...entries]) });

  test("a killed process, or one that exited with 0 when requested, is no finding", () => {
    expect(ends(signal("SIGKILL"), exit(null, true))).toEqual([]);
    expect(ends(signal("SIGTERM"), exit(0, true))).toEqual([]);
  });

  test("a process that exited by itself is wrong", () => {
    expect(ends(exit(1, false))).toEqual(["wrong"]);
  });

  test("a requested exit with a code other than 0 is wrong", () => {
    expect(ends(signal("SIGTERM"), exit(1, true))).toEqual(["wrong"]);
  });

  test("a broken engine is wrong", () => {
    expect(ends({ kind: "broken", text: "assertion" })).toEqual(["wrong"]);
  });

  test("a corrupt database file is wrong", () => {
    expect(kinds({ integrity: ["row 5 missing from index"] })).toEqual(["wrong"]);
  });
});

test("the figures count runs, records, bodies and messages", () => {
  const { figures } = check(evidence({ runs: [run({ output: { ...EMPTY_OUTPUT, value: worth("r", "first") } })] }));
  expect(figures).toMatchObject({ runs: 1, records: 1, bodies: 1, received: 0, letters: 0, continued: 0 });
});

describe("rows of transactions", () => {
  const wrote = record(2, { kind: "transaction", location: "line-0", value: "b7" });
  const took = record(3, { kind: "transaction", location: "line-2", outcome: "failed", value: undefined });
  const line = { run: "r", location: "line-0", body: "b7" };
  const kindsOf = (transactionRows: Evidence["transactionRows"]): readonly string[] => {
    const { records } = run();
    return check(evidence({ runs: [run({ records: [...records, wrote, took] })], transactionRows })).findings.map(
      ({ kind }) => kind,
    );
  };

  test("one row for each record of a transaction is no finding", () => expect(kindsOf([line])).toEqual([]));
  test("a missing row of a transaction is lost", () => expect(kindsOf([])).toEqual(["lost"]));
  test("a row that a transaction wrote twice is found", () => expect(kindsOf([line, line])).toEqual(["twice"]));
  test("a row from another call of the transaction body is wrong", () =>
    expect(kindsOf([{ ...line, body: "b8" }])).toEqual(["wrong"]));
  test("a row of a failed transaction, or without a record, is found", () =>
    expect(kindsOf([line, { ...line, location: "line-2" }, { ...line, run: "none" }])).toEqual(["twice", "twice"]));
});

describe("compensation", () => {
  const paid = record(1, { location: "pay", detail: "rollback", value: { value: worth("r", "pay"), body: "b1" } });
  const stop = record(2, { location: "~compensate", kind: "compensate", outcome: "failed", attempts: 0 });
  const refunded = record(3, { location: "pay/~rollback", kind: "rollback", value: undefined });
  const found = (...runs: readonly RunDump[]): readonly string[] =>
    checkCompensation(evidence({ runs })).map(({ kind }) => kind);

  test("an effect of a failed or cancelled run without a rollback is lost", () => {
    for (const status of ["failed", "cancelled"] as const) {
      expect(found(run({ status, records: [paid, stop, refunded] }))).toEqual([]);
      expect(found(run({ status, records: [paid, stop] }))).toEqual(["lost"]);
    }
    expect(found(run({ records: [paid] }))).toEqual([]);
  });

  test("an effect of a completed child of a failed run is lost unless a run undoes it", () => {
    const parent = run({ id: "p", status: "failed", records: [stop] });
    const child = run({ id: "p//c", parent: { runId: "p", location: "c" }, records: [paid] });
    const undo = { id: "p//c//~undo", status: "cancelled", parent: { runId: "p", location: "c/~rollback" } } as const;
    expect(found(parent, child)).toEqual(["lost"]);
    expect(found(parent, child, run({ ...undo, records: [paid, stop, refunded] }))).toEqual([]);
    expect(found(parent, child, run({ ...undo, records: [paid, stop] }))).toEqual(["lost", "lost"]);
    expect(found(run({ id: "p", records: [] }), child)).toEqual([]);
  });
});
