import type { StepInfo } from "../../workflow/command.ts";
import type { TransactionOptions } from "../../workflow/ctx.ts";
import { type Branch, issued, valueIn } from "./branch.ts";
import { broughtByStep } from "./scope.ts";
import { stepCommand } from "./step.ts";

/** A step whose body the store runs inside its own transaction, and whose record is committed with it. */
export function transaction<Tx, Value>(
  branch: Branch,
  name: string,
  body: (tx: Tx, info: StepInfo) => Value,
  options?: TransactionOptions<Awaited<Value>>,
): Promise<Awaited<Value>> {
  return issued(
    branch,
    (settle) => ({
      ...stepCommand(branch, name, nothing, options, settle),
      record: "transaction",
      transact: (tx, info) => body(tx as Tx, info),
    }),
    (completion) => {
      if (completion.outcome === "failed") throw broughtByStep(completion.error);
      return valueIn(completion) as Awaited<Value>;
    },
  );
}

function nothing(): void {
  // The store calls `transact` in its place.
}
