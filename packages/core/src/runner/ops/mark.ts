import type { RecordKind } from "../../model/record.ts";
import type { MarkCommand } from "../../workflow/command.ts";
import { type Branch, completionValue, perform } from "./branch.ts";

/** Adds a mark to the journal. Resolves with the recorded value, in every replay the same. */
export function mark<Value>(
  branch: Branch,
  command: {
    readonly record: RecordKind;
    readonly location: string;
    readonly value?: Value;
    readonly detail: string | null;
    readonly trim?: MarkCommand["trim"];
  },
): Promise<Value> {
  const { record, location, value, detail, trim = null } = command;
  return perform(
    branch,
    (settle) => {
      // Rejects here, in each replay too. The driver must find a value that can be stored.
      if (value !== undefined && typeof value !== "number") branch.settings.codec.encode(value, `value of ${location}`);
      return { kind: "mark", record, location, issuedAt: branch.host.now(), value, detail, trim, settle };
    },
    (completion) => completionValue(completion) as Value,
  );
}
