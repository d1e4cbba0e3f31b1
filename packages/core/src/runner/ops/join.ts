import { JoinError, RaceError } from "../../model/branch-errors.ts";
import { PawlError } from "../../model/errors.ts";
import { nameSegment } from "../../model/location.ts";
import { checkName } from "../../model/names.ts";
import { kinds, readArgument } from "../../model/option-check.ts";
import type { Ctx } from "../../workflow/ctx.ts";
import type { Branches, Joined, RaceResult } from "../../workflow/structure.ts";
import { type Branch, BranchCancellation, branchAt, locate, outerSignal } from "./branch.ts";
import { cancelChild } from "./child.ts";
import { mark } from "./mark.ts";

/** Runs all branches to their end, even if some fail. */
export async function join<const All extends Branches<Ctx>>(
  branch: Branch,
  name: string,
  branches: All,
): Promise<Joined<All>> {
  const started = await startBranches(branch, "join", name, branches);
  const settled = await Promise.allSettled(started.map(({ path, run }) => callBranch(run, branchAt(branch, path))));
  const errors: Record<string, Error> = {};
  const values: Record<string, unknown> = {};
  settled.forEach((end, index) => {
    const key = started[index]?.name ?? "";
    if (end.status === "rejected") errors[key] = end.reason as Error;
    else values[key] = end.value;
  });
  if (Object.keys(errors).length > 0) throw new JoinError(name, errors);
  return values as Joined<All>;
}

/** Resolves with the first branch that succeeds, and cancels the others. */
export async function race<const All extends Branches<Ctx>>(
  branch: Branch,
  name: string,
  branches: All,
): Promise<RaceResult<All>> {
  const started = await startBranches(branch, "race", name, branches);
  const lines = started.map((each) => ({
    ...each,
    cancellation: new BranchCancellation(branch.cancellation, () => outerSignal(branch)),
  }));
  return await new Promise((resolve, reject) => {
    const errors: Record<string, Error> = {};
    let decided = false;
    const won = (winner: string, value: unknown): void => {
      if (decided) return;
      decided = true;
      for (const { name: loser, path, cancellation } of lines) {
        if (loser === winner) continue;
        const reason = new PawlError("RACE_LOST", `branch ${loser} of race ${name} lost to ${winner}`);
        cancellation.cancel(reason);
        branch.host.cancelUnder(path, reason);
        for (const [location, runId] of cancellation.children) cancelChild(branch, location, runId, reason);
      }
      resolve({ winner, value } as RaceResult<All>);
    };
    const failed = (loser: string, error: Error): void => {
      errors[loser] = error;
      if (Object.keys(errors).length === lines.length) reject(new RaceError(name, errors));
    };
    for (const { name: key, path, run, cancellation } of lines) {
      callBranch(run, { ...branchAt(branch, path), cancellation: cancellation }).then(
        (value) => won(key, value),
        (error: Error) => failed(key, error),
      );
    }
  });
}

interface StartedBranch {
  readonly name: string;
  readonly path: string;
  readonly run: (ctx: Ctx) => unknown;
}

const BRANCHES = kinds.map<StartedBranch["run"]>(kinds.callback);

/** Records the names of the branches, so that a change of branches is detected as a divergence. */
async function startBranches(
  branch: Branch,
  record: "join" | "race",
  name: string,
  branches: Branches<Ctx>,
): Promise<readonly StartedBranch[]> {
  checkName(name, `name of ${record}`);
  const functions = Object.entries(readArgument(BRANCHES, branches, `branches of ${record} ${name}`));
  const names = functions.map(([key]) => checkName(key, `branch of ${record} ${name}`));
  if (names.length === 0) throw new PawlError("OPTION_INVALID", `${record} ${name} has no branches; pass at least one`);
  const location = locate(branch, name);
  const detail = [...names].sort().map(nameSegment).join(", ");
  await mark(branch, { record, location, detail });
  return functions.map(([key, run]) => ({ name: key, path: `${location}/${nameSegment(key)}`, run }));
}

async function callBranch(run: (ctx: Ctx) => unknown, branch: Branch): Promise<unknown> {
  return await run(branch.createCtx(branch));
}
