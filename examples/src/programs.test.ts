import { afterEach, describe, expect, it, vi } from "vitest";

/** Executes a program by importing it. Returns the printed lines. */
async function printed(load: () => Promise<unknown>): Promise<readonly string[]> {
  const lines: string[] = [];
  vi.spyOn(console, "log").mockImplementation((line: unknown) => {
    lines.push(String(line));
  });
  await load();
  return lines;
}

describe("output of the examples", () => {
  afterEach(() => {
    vi.restoreAllMocks();
  });

  it("order-approval: one order is approved, the other times out and is refunded", async () => {
    expect(await printed(() => import("./order-approval.ts"))).toEqual([
      "a: shipped",
      "a: approved by ann",
      "b: refunded 250 cents",
      "b: nobody approved",
    ]);
  });

  it("fan-out: steps run in parallel, and the failing step is retried", async () => {
    const lines = await printed(() => import("./fan-out.ts"));
    expect(lines[0]).toBe("indexed 4 pages");
    expect(lines.slice(1).sort()).toEqual([
      "fetch about: 3 attempts",
      "fetch contact: 1 attempts",
      "fetch docs: 1 attempts",
      "fetch home: 1 attempts",
      "index: 1 attempts",
    ]);
  });

  it("branches: join, race, loop and try return their results", async () => {
    expect(await printed(() => import("./branches.ts"))).toEqual([
      "text of Salt",
      "cover of Salt",
      "reader: good",
      "300 copies",
      "it rains",
      "the journal holds fewer than 50 records: true",
    ]);
  });

  it("actor-host: each actor runs when its alarm fires, and receives messages", async () => {
    const lines = await printed(() => import("./actor-host.ts"));
    expect(lines.slice(0, 2)).toEqual(["welcome, ann", "welcome, bob"]);
    expect(lines.slice(2, 4).sort()).toEqual(["ann, do you stay?", "bob, do you stay?"]);
    expect(lines.slice(4).sort()).toEqual(["ann stays: a year", "bob left"]);
  });

  it("changing-code: an open run skips the removed step and keeps its path, and a new run takes the new one", async () => {
    expect(await printed(() => import("./changing-code.ts"))).toEqual([
      "reserved, shipped",
      "reserved again, shipped with a tracking number",
    ]);
  });

  it("versions: each run ends with the version it started with", async () => {
    expect(await printed(() => import("./versions.ts"))).toEqual([
      "invoice-1 in version 1: letter to ann, paid",
      "invoice-2 in version 2: mail to bob, paid",
    ]);
  });

  it("limits: a run that waits too long gets warnings, fails, is rolled back, and is removed later", async () => {
    expect(await printed(() => import("./limits.ts"))).toEqual([
      "smith: 50 % of maxSuspendDuration",
      "smith: 80 % of maxSuspendDuration",
      "table 4 is free again",
      "run smith failed: run smith was suspended for longer than its maxSuspendDuration of 2 d",
      "after 29 days: failed",
      "after 33 days: removed",
    ]);
  });

  it("explain: returns a sentence for each run", async () => {
    expect(await printed(() => import("./explain.ts"))).toEqual([
      'run o-1 of order v1 has been suspended for 1 min, waiting for message "approve" (timeout in 1 d 23 h)',
      "run f-1 of flaky v1 is retrying call: attempt 2 in 9 min; last error: no route to host",
      "run o-2 of order v1 is paused: the customer called",
      "run o-7 of order v7 has been due for 1 min; no live worker has order v7 (workers have v1)",
    ]);
  });

  it("stock: reservations are made once, and rolled back if there is too little stock", async () => {
    expect(await printed(() => import("./stock.ts"))).toEqual([
      "1 of salt: north, 1 left",
      "4 of salt: south, 1 left",
      "4 of salt: nowhere",
    ]);
  });

  it("connections: they are open while the run is executed, and closed while it sleeps", async () => {
    const held = ["open mail", "open audit"];
    const released = ["close audit", "close mail"];
    expect(await printed(() => import("./connections.ts"))).toEqual([
      ...held,
      "mail got hello ann",
      ...released,
      ...held,
      "mail got are you there, ann?",
      ...released,
    ]);
  });

  it("rewind: a failed run is retried, and a run is rewound to an earlier record", async () => {
    expect(await printed(() => import("./rewind.ts"))).toEqual([
      "looked up tea",
      "charged 300",
      "run sale-1 failed: no paper",
      "receipt over 300",
      "3 records dropped",
      "looked up tea",
      "charged 350",
      "receipt over 350",
      "retry: put paper in",
      "rewind: the price was last year's",
    ]);
  });

  it("fork: the copy has the same history with another value", async () => {
    expect(await printed(() => import("./fork.ts"))).toEqual([
      "asked the bureau",
      "as it was: refused",
      "with another score: granted",
      "with less: granted",
      "score: 480 or 510",
      "limit: 4800 or 5100",
    ]);
  });

  it("check-replay: incompatible code is reported without effects", async () => {
    expect(await printed(() => import("./check-replay.ts"))).toEqual([
      "welcome, ann",
      "welcome, bob",
      "a renamed step: does not fit",
      "  at welcome: step at welcome, the code requests step at greet",
      "another message: does not fit",
      "  at cancelled: listen at cancelled for message cancelled, the code requests listen at ended",
      "a reminder: fits 2 runs",
    ]);
  });

  it("polling: the journal of a continued run contains one iteration", async () => {
    expect(await printed(() => import("./polling.ts"))).toEqual([
      "render was done in round 4",
      "continued 3 times; its journal holds 1 record",
    ]);
  });

  it("saga: bookings are rolled back newest first when a trip fails or is cancelled", async () => {
    expect(await printed(() => import("./saga.ts"))).toEqual([
      "booked: flight to Oslo, car in Oslo, hotel in Oslo, insurance for Oslo",
      "cancelled: car in Rome",
      "cancelled: flight to Rome",
      "run rome failed: join stay failed: hotel: the hotel is full",
      "cancelled: car in Bonn",
      "cancelled: flight to Bonn",
      "run bonn was cancelled: the customer is ill; rollbacks failed for these steps: insurance",
      "left behind: insurance, insurance for Bonn can't be cancelled",
    ]);
  });

  it("decision: the table returns the largest discount that applies", async () => {
    expect(await printed(() => import("./decision.ts"))).toEqual([
      "new pays 100 of 100",
      "regular pays 95 of 100",
      "regular pays 1800 of 2000",
    ]);
  });

  it("approval: one of two managers claims the task, and the purchase continues", async () => {
    expect(await printed(() => import("./approval.ts"))).toEqual(["claimed by 1 of 2", "approved"]);
  });

  it("process: a human task decides a claim that the service cannot decide", async () => {
    expect(await printed(() => import("./process.ts"))).toEqual([
      "small: paid 200",
      'large: waits for "Decide on the claim"',
      "large: paid 4000",
    ]);
  });

  it("typed-messages: the highest bid wins and an invalid bid is rejected", async () => {
    expect(await printed(() => import("./typed-messages.ts"))).toEqual([
      "refused: SCHEMA_REFUSED",
      "a lamp goes to bob for 900",
    ]);
  });

  it("explore-orders: the double charge is reported, and the fixed workflow has no findings", async () => {
    expect(await printed(() => import("./explore-orders.ts"))).toEqual([
      'twice: "charge of 499" happened more often than expected: step charge ran again',
      "the run is started",
      "step charge runs",
      "  → charge of 499",
      "process 1 crashes before the result of step charge is stored",
      "process 2 takes over",
      "step charge runs again",
      "  → charge of 499",
      "the run is completed",
      "mended: 0 findings",
    ]);
  });

  it("move-run: a run resumes in another store, and its journal tests other code", async () => {
    expect(await printed(() => import("./move-run.ts"))).toEqual([
      "charged for tea",
      "moved: o-1, which is cancelled here",
      "shipped tea, says ann",
      "shipped",
      "today's code: completed",
      "run o-1 of order: at charge the journal has step at charge (record 1), the code requests step at debit",
    ]);
  });
});
