import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { childEndId, type InboxEntry } from "../model/inbox.ts";
import type { Arm, WaitCommand } from "../workflow/command.ts";
import { OpenWaits } from "./open-waits.ts";

let issued = 0;
const arm = (name: string): Arm => ({ kind: "message", name, as: name });
const wait = (names: readonly string[], over: Partial<WaitCommand> = {}): WaitCommand => ({
  kind: "wait",
  record: "listen",
  location: `w${issued++}`,
  issuedAt: 0,
  arms: names.map(arm),
  count: 1,
  many: false,
  until: null,
  atDeadline: { outcome: "timedOut", detail: null },
  settle: () => {},
  ...over,
});
const entry = (n: number, name: string, kind: InboxEntry["kind"] = "message"): InboxEntry => ({
  n,
  kind,
  id: `${n}`,
  name,
  value: null,
  status: null,
  at: 0,
  onTargetTerminated: "discard",
});
const takeAll = (waits: OpenWaits): Array<readonly [WaitCommand, number[]]> => {
  const all: Array<readonly [WaitCommand, number[]]> = [];
  for (let match = waits.takeMatch(); match !== null; match = waits.takeMatch()) {
    all.push([match.wait, match.entries.map(({ n }) => n)]);
  }
  return all;
};

describe("open waits", () => {
  it("a wait is matched whether it or the entry comes first", () => {
    const waits = new OpenWaits();
    const [first, second] = [wait(["a"]), wait(["b"])];
    waits.add(first);
    waits.arrive([entry(1, "b"), entry(2, "a")]);
    expect(takeAll(waits)).toEqual([[first, [2]]]);
    waits.add(second);
    expect(takeAll(waits)).toEqual([[second, [1]]]);
    expect(waits.size).toBe(0);
  });

  it("waits for one name receive the oldest entries in the order of issue", () => {
    const waits = new OpenWaits();
    const [first, second] = [wait(["a"]), wait(["a"])];
    waits.add(first);
    waits.add(second);
    waits.arrive([entry(1, "a"), entry(2, "a"), entry(3, "a")]);
    expect(takeAll(waits)).toEqual([
      [first, [1]],
      [second, [2]],
    ]);
  });

  it("a wait for several names receives the oldest entry and leaves the others", () => {
    const waits = new OpenWaits();
    const either = wait(["a", "b"]);
    waits.arrive([entry(5, "a"), entry(3, "b")]);
    waits.add(either);
    expect(takeAll(waits)).toEqual([[either, [3]]]);
    const rest = wait(["a"]);
    waits.add(rest);
    expect(takeAll(waits)).toEqual([[rest, [5]]]);
  });

  it("a wait for several entries ends when all have arrived; at its deadline it takes those that have", () => {
    const waits = new OpenWaits();
    const three = wait(["a"], { count: 3, many: true });
    waits.add(three);
    waits.arrive([entry(1, "a"), entry(2, "a")]);
    expect(takeAll(waits)).toEqual([]);
    const rest = waits.entriesFor(three, 0) ?? [];
    expect(rest.map(({ n }) => n)).toEqual([1, 2]);
    waits.end(three, rest);
    expect(waits.has(three)).toBe(false);
    const full = wait(["a"], { count: 2, many: true });
    waits.add(full);
    waits.arrive([entry(3, "a"), entry(4, "a"), entry(5, "a")]);
    expect(takeAll(waits)).toEqual([[full, [3, 4]]]);
  });

  it("the next wait takes the place of a removed one", () => {
    const waits = new OpenWaits();
    const [first, second] = [wait(["a"]), wait(["a"])];
    waits.add(first);
    waits.add(second);
    waits.remove(first);
    waits.remove(first);
    waits.arrive([entry(1, "a")]);
    expect(takeAll(waits)).toEqual([[second, [1]]]);
  });

  it("messages, events and children of one name are kept apart", () => {
    const waits = new OpenWaits();
    const event = wait([], { arms: [{ kind: "event", topic: "x", as: "x" }] });
    const child = wait([], { arms: [{ kind: "child", location: "x", child: "c", as: "x" }] });
    waits.add(event);
    waits.add(child);
    const end = { ...entry(2, "x", "child"), id: childEndId("x", "c") };
    waits.arrive([entry(1, "x"), end, entry(3, "x", "event")]);
    expect(takeAll(waits)).toEqual(
      expect.arrayContaining([
        [event, [3]],
        [child, [2]],
      ]),
    );
  });

  it("the end of a child does not end the wait for a later child at the same location", () => {
    const waits = new OpenWaits();
    const child = wait([], { arms: [{ kind: "child", location: "x", child: "second", as: "x" }] });
    waits.add(child);
    const end = (n: number, id: string): InboxEntry => ({ ...entry(n, "x", "child"), id: childEndId("x", id) });
    waits.arrive([end(1, "first")]);
    expect(takeAll(waits)).toEqual([]);
    waits.arrive([end(2, "second")]);
    expect(takeAll(waits)).toEqual([[child, [2]]]);
  });

  it("the row stores the union of all waits and lists at most twenty of them", () => {
    const waits = new OpenWaits();
    for (let n = 0; n < 25; n += 1) waits.add(wait([n % 2 === 0 ? "even" : "odd"]));
    waits.add(wait([], { arms: [{ kind: "event", topic: "t", as: "t" }] }));
    expect(waits.waitRow(7, { since: 3, seq: 0 }, new Set())).toMatchObject({
      messages: ["even", "odd"],
      topics: ["t"],
      children: false,
      until: 7,
      openCount: 26,
    });
    expect(waits.waitRow(null, { since: 3, seq: 0 }, new Set())?.open).toHaveLength(20);
  });

  it("every entry is received exactly once, in any order of waits and entries", () => {
    const names = fc.constantFrom("a", "b", "c");
    const action = fc.oneof(
      fc.record({
        kind: fc.constant("wait" as const),
        names: fc.uniqueArray(names, { minLength: 1 }),
        count: fc.integer({ min: 1, max: 3 }),
      }),
      fc.record({ kind: fc.constant("arrive" as const), name: names }),
      fc.record({ kind: fc.constant("drop" as const), pick: fc.nat(20) }),
    );
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const waits = new OpenWaits();
        const open: WaitCommand[] = [];
        const given: number[] = [];
        let n = 0;
        for (const each of actions) {
          if (each.kind === "wait") {
            const next = wait(each.names, { count: each.names.length === 1 ? each.count : 1 });
            open.push(next);
            waits.add(next);
          } else if (each.kind === "arrive") {
            waits.arrive([entry(++n, each.name)]);
          } else if (open.length > 0) {
            waits.remove(open.splice(each.pick % open.length, 1)[0]!);
          }
          for (const [matched, entries] of takeAll(waits)) {
            given.push(...entries);
            open.splice(open.indexOf(matched), 1);
            expect(entries).toHaveLength(matched.count);
          }
        }
        for (const rest of open.splice(0)) waits.remove(rest);
        for (const name of ["a", "b", "c"]) {
          for (let left = 0; left <= n; left += 1) waits.add(wait([name]));
        }
        for (const [, entries] of takeAll(waits)) given.push(...entries);
        expect([...given].sort((a, b) => a - b)).toEqual(Array.from({ length: n }, (_, index) => index + 1));
      }),
    );
  });
});
