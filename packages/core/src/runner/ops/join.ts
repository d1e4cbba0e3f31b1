import { JoinError, RaceError } from "../../model/branch-errors.ts";
import { PawlError } from "../../model/errors.ts";
import { nameSegment } from "../../model/location.ts";
import { checkName } from "../../model/names.ts";
import { kinds, optionTable, readArgument } from "../../model/option-check.ts";
import type { Ctx } from "../../workflow/ctx.ts";
import type { Branches, BranchList, Joined, RaceResult } from "../../workflow/structure.ts";
import { type Branch, BranchCancellation, branchAt, locate, outerSignal } from "./branch.ts";
import { cancelChild } from "./child.ts";
import { mark } from "./mark.ts";

/** Runs all branches to their end, even if some fail. */
export async function join<const All extends Branches<Ctx> | BranchList<Ctx>>(
  branch: Branch,
  name: string,
  branches: All,
): Promise<Joined<All>> {
  const started = await startBranches(branch, "join", name, branches);
  const settled = await Promise.allSettled(started.map(({ path, run }) => callBranch(run, branchAt(branch, path))));
  // Maps, because an assignment to a record would not add a branch named `__proto__`.
  const errors = new Map<string, Error>();
  const values = new Map<string, unknown>();
  settled.forEach((end, index) => {
    const key = started[index]?.name ?? "";
    if (end.status === "rejected") errors.set(key, end.reason as Error);
    else values.set(key, end.value);
  });
  if (errors.size > 0) throw new JoinError(name, Object.fromEntries(errors));
  return Object.fromEntries(values) as Joined<All>;
}

/** Resolves with the first branch that succeeds, and cancels the others. */
export async function race<const All extends Branches<Ctx> | BranchList<Ctx>>(
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
    const errors = new Map<string, Error>();
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
      errors.set(loser, error);
      if (errors.size === lines.length) reject(new RaceError(name, Object.fromEntries(errors)));
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

type NamedBranch = Pick<StartedBranch, "name" | "run">;
type BranchOptions = Pick<StartedBranch, "run">;

const BRANCH = kinds.either(
  kinds.callback,
  kinds.options(optionTable<BranchOptions>("a branch", { run: kinds.required(kinds.callback) })),
);
const LISTED_BRANCH = kinds.options(
  optionTable<NamedBranch>("a branch", { name: kinds.required(kinds.name), run: kinds.required(kinds.callback) }),
);
const BRANCHES = kinds.either(kinds.list(LISTED_BRANCH), kinds.map<StartedBranch["run"] | BranchOptions>(BRANCH));

function readBranches(given: unknown, what: string): readonly NamedBranch[] {
  const branches = readArgument<
    readonly NamedBranch[] | Readonly<Record<string, StartedBranch["run"] | BranchOptions>>
  >(BRANCHES, given, `branches of ${what}`);
  if (!isList(branches)) {
    return Object.entries(branches).map(([name, branch]) => {
      const { run } = typeof branch === "function" ? { run: branch } : branch;
      return { name: checkName(name, `branch of ${what}`), run };
    });
  }
  const names = new Set<string>();
  for (const { name } of branches) {
    if (names.has(name)) throw new PawlError("OPTION_INVALID", `${what} has two branches named ${name}; rename one`);
    names.add(name);
  }
  return branches;
}

function isList<Item>(value: readonly Item[] | object): value is readonly Item[] {
  return Array.isArray(value);
}

/** Records the names of the branches, so that a change of branches is detected as a divergence. */
async function startBranches(
  branch: Branch,
  record: "join" | "race",
  name: string,
  given: unknown,
): Promise<readonly StartedBranch[]> {
  checkName(name, `name of ${record}`);
  const branches = readBranches(given, `${record} ${name}`);
  if (record === "race" && branches.length === 0)
    throw new PawlError("OPTION_INVALID", `race ${name} has no branches; pass at least one`);
  const location = locate(branch, name);
  const detail = branches
    .map((each) => each.name)
    .sort()
    .map(nameSegment)
    .join(", ");
  await mark(branch, { record, location, detail });
  return branches.map(({ name: key, run }) => ({ name: key, path: `${location}/${nameSegment(key)}`, run }));
}

async function callBranch(run: (ctx: Ctx) => unknown, branch: Branch): Promise<unknown> {
  return await run(branch.createCtx(branch));
}
