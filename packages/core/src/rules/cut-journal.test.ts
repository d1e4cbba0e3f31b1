import { describe, expect, it } from "vitest";
import type { JournalRecord, RecordKind } from "../model/record.ts";
import { type Cut, cutAt, cutBefore } from "./cut-journal.ts";

/** Records by their location; `kind:location:detail` where it is no step. */
function journal(...lines: string[]): JournalRecord[] {
  return lines.map((line, index) => {
    const [kind, location, detail] = line.includes(":") ? line.split(":") : ["step", line];
    const fixed = { outcome: "ok", payload: null, attempts: 1, startedAt: 0, at: 0 } as const;
    return { seq: index + 1, location: location ?? "", kind: kind as RecordKind, detail: detail ?? null, ...fixed };
  });
}

const keeps = (cut: ReturnType<typeof cutAt>): string[] => (cut as Cut).kept.map(({ location }) => location);

describe("cuts", () => {
  it("a cut is before the first record at or under a location, or before a seq", () => {
    const records = journal("a", "join:ship", "ship/mail/send", "b");
    expect(keeps(cutAt(records, "b"))).toEqual(["a", "ship", "ship/mail/send"]);
    expect(keeps(cutAt(records, "ship"))).toEqual(["a"]);
    expect(keeps(cutAt(records, "ship/mail"))).toEqual(["a", "ship"]);
    expect(keeps(cutAt(records, 2))).toEqual(["a"]);
    expect(keeps(cutAt(records, 0))).toEqual([]);
  });

  it("a cut is refused at a name prefix, an operator record or a seq beyond the last", () => {
    const records = journal("shipping", "operator:~:rewind", "b");
    for (const at of ["ship", "~", "c", 2, 4]) expect(cutAt(records, at)).toEqual({ kind: "nothingThere" });
  });

  it("a cut drops the failed attempts and operator records before its record", () => {
    const records = journal("a", "retry:b", "operator:~:rewind", "retry:b", "b");
    const cut = cutAt(records, 5) as Cut;
    expect(keeps(cut)).toEqual(["a"]);
    expect(cut.dropped).toHaveLength(4);
    expect(keeps(cutBefore(records, 5, null))).toEqual(["a", "b", "~", "b", "b"]);
  });

  it("a cut in a loop is at the start of the iteration, after its state record", () => {
    const records = journal("loop/~0/x", "loop/~0/y", "loop:loop/~1:1", "loop/~1/x", "loop/~1/y", "loop/~2/x");
    expect(keeps(cutAt(records, "loop/~1/y"))).toEqual(["loop/~0/x", "loop/~0/y", "loop/~1"]);
    expect(keeps(cutAt(records, "loop/~1"))).toEqual(["loop/~0/x", "loop/~0/y", "loop/~1"]);
    expect(keeps(cutAt(records, 5))).toEqual(["loop/~0/x", "loop/~0/y", "loop/~1"]);
    expect(keeps(cutAt(records, "loop"))).toEqual([]);
  });

  it("a cut is refused when the loop would have no state to start from", () => {
    const trimmed = journal("loop/~5/x", "loop/~6/x", "loop:loop/~7:7", "loop/~7/x", "loop/~8/x");
    expect(cutAt(trimmed, "loop/~6/x")).toEqual({ kind: "trimmed", loop: "loop" });
    expect(cutAt(trimmed, "loop/~5/x")).toEqual({ kind: "trimmed", loop: "loop" });
    expect(keeps(cutAt(trimmed, "loop/~8"))).toHaveLength(4);
    const marked = journal("checkpoint:loop/~0/c", "loop/~6/x", "loop:loop/~7:7", "loop/~7/x");
    expect(cutAt(marked, "loop/~6/x")).toEqual({ kind: "trimmed", loop: "loop" });
    const nested = journal("o/~0/i/~4/x", "o/~1/i/~0/x", "o/~1/i/~1/x");
    expect(cutAt(nested, "o/~1/i/~1/x")).toEqual({ kind: "trimmed", loop: "o/~0/i" });
    const over = journal("loop:loop:", "a", "b");
    expect(keeps(cutAt(over, "b"))).toEqual(["loop", "a"]);
  });

  it("a cut is refused when it would keep a rolled-back step or the compensate record", () => {
    const records = journal("a", "b", "c", "compensate::failed", "rollback:b/~rollback", "rollback:a/~rollback");
    expect(cutAt(records, "c")).toEqual({ kind: "undone", location: "a" });
    expect(cutAt(records, "b")).toEqual({ kind: "undone", location: "a" });
    expect(keeps(cutAt(records, "a"))).toEqual([]);
    expect(cutAt(records, 5)).toEqual({ kind: "stopped", seq: 4 });
    const tried = journal("a", "b", "compensate::failed", "retry:a/~rollback");
    expect(cutAt(tried, "b")).toEqual({ kind: "undone", location: "a" });
  });
});
