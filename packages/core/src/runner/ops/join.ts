import { JoinError, RaceError } from "../../model/branch-errors.ts";
import { PawlError } from "../../model/errors.ts";
import { nameSegment, nextLocation } from "../../model/location.ts";
import { checkName } from "../../model/names.ts";
import type { Ctx } from "../../workflow/ctx.ts";
import type { Branches, Joined, RaceResult } from "../../workflow/structure.ts";
import { type Branch, branchAt, Line, outerSignal } from "./branch.ts";
import { cancelChild } from "./child.ts";
import { mark } from "./mark.ts";

/** All branches run to their end, whatever becomes of the others. */
export async function join<const All extends Branches<Ctx>>(
  branch: Branch,
  name: string,
  branches: All,
): Promise<Joined<All>> {
  const begun = await begin(branch, "join", name, branches);
  const settled = await Promise.allSettled(begun.map(({ path, run }) => called(run, branchAt(branch, path))));
  const errors: Record<string, Error> = {};
  const values: Record<string, unknown> = {};
  settled.forEach((end, index) => {
    const key = begun[index]?.name ?? "";
    if (end.status === "rejected") errors[key] = end.reason as Error;
    else values[key] = end.value;
  });
  if (Object.keys(errors).length > 0) throw new JoinError(name, errors);
  return values as Joined<All>;
}

/** The first branch that succeeds decides; the others are ended there and then. */
export async function race<const All extends Branches<Ctx>>(
  branch: Branch,
  name: string,
  branches: All,
): Promise<RaceResult<All>> {
  const begun = await begin(branch, "race", name, branches);
  const lines = begun.map((each) => ({ ...each, line: new Line(branch.line, () => outerSignal(branch)) }));
  return await new Promise((resolve, reject) => {
    const errors: Record<string, Error> = {};
    let decided = false;
    const won = (winner: string, value: unknown): void => {
      if (decided) return;
      decided = true;
      for (const { name: loser, path, line } of lines) {
        if (loser === winner) continue;
        const reason = new PawlError("RACE_LOST", `branch ${loser} of race ${name} has lost to ${winner}`);
        line.end(reason);
        branch.host.cancelUnder(path, reason);
        for (const [location, runId] of line.children) cancelChild(branch, location, runId, reason);
      }
      resolve({ winner, value } as RaceResult<All>);
    };
    const failed = (loser: string, error: Error): void => {
      errors[loser] = error;
      if (Object.keys(errors).length === lines.length) reject(new RaceError(name, errors));
    };
    for (const { name: key, path, run, line } of lines) {
      called(run, { ...branchAt(branch, path), line }).then(
        (value) => won(key, value),
        (error: Error) => failed(key, error),
      );
    }
  });
}

interface Begun {
  readonly name: string;
  readonly path: string;
  readonly run: (ctx: Ctx) => unknown;
}

/** The names of the branches are noted, so that code with other branches is seen to be other code. */
async function begin(
  branch: Branch,
  record: "join" | "race",
  name: string,
  branches: Branches<Ctx>,
): Promise<readonly Begun[]> {
  const location = nextLocation(branch.scope, checkName(name, `name of ${record}`));
  const names = Object.keys(branches).map((key) => checkName(key, `branch of ${record} ${name}`));
  if (names.length === 0) throw new PawlError("OPTION_INVALID", `${record} ${name} was given no branches`);
  const detail = [...names].sort().map(nameSegment).join(", ");
  await mark(branch, { record, location, detail });
  return Object.entries(branches).map(([key, run]) => ({ name: key, path: `${location}/${nameSegment(key)}`, run }));
}

async function called(run: (ctx: Ctx) => unknown, branch: Branch): Promise<unknown> {
  return await run(branch.createCtx(branch));
}
