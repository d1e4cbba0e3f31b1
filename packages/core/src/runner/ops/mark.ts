import type { RecordKind } from "../../model/record.ts";
import type { MarkCommand } from "../../workflow/command.ts";
import { type Branch, issued, valueIn } from "./branch.ts";

/** Notes something in the journal; gives what the journal holds, now and in every replay. */
export function mark<Value>(
  branch: Branch,
  note: {
    readonly record: RecordKind;
    readonly location: string;
    readonly value?: Value;
    readonly detail: string | null;
    readonly trim?: MarkCommand["trim"];
  },
): Promise<Value> {
  const { record, location, value, detail, trim = null } = note;
  return issued(
    branch,
    (settle) => ({ kind: "mark", record, location, issuedAt: branch.host.now(), value, detail, trim, settle }),
    (completion) => valueIn(completion) as Value,
  );
}
