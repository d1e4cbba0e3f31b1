import { shrink } from "pawl-test-shared/shrink";
import type { Activity, Block, Scope } from "./block.ts";
import { drive, type Machine } from "./drive.ts";
import type { Failure } from "./seeds.ts";

/** The number of executions of a smaller process, each with another seed. */
const DRIVES = 8;
const ATTEMPTS_MAX = 4_000;

/** The same difference in the smallest process found. */
export function shrinkFailure(machine: Machine, failure: Failure): Promise<Failure> {
  const kind = kindOf(failure.text);
  return shrink(failure, {
    smaller: ({ scope, ...rest }) => smaller(scope).map((less) => ({ ...rest, scope: less })),
    retry: async ({ scope, seed }) => {
      for (let i = 0; i < DRIVES; i += 1) {
        const { flaw, trace } = await driveIfValid(scope, machine, seed + i);
        if (flaw !== null && kindOf(flaw) === kind) return { seed, scope, text: flaw, trace };
      }
      return null;
    },
    attemptsMax: ATTEMPTS_MAX,
  });
}

function kindOf(text: string): string | undefined {
  return text.split("\n")[0];
}

/** A smaller process may be invalid, so that it cannot be deployed. */
async function driveIfValid(scope: Scope, machine: Machine, seed: number): ReturnType<typeof drive> {
  try {
    return await drive(scope, machine, seed);
  } catch {
    return { flaw: null, trace: [] };
  }
}

/** Processes with one part removed. */
function smaller(scope: Scope): readonly Scope[] {
  return [
    ...scope.handlers.map((_, i) => ({ ...scope, handlers: scope.handlers.filter((_, k) => k !== i) })),
    ...smallerBlocks(scope.body).map((body) => ({ ...scope, body })),
    ...scope.handlers.flatMap((handler, i) =>
      smaller(handler.inside).map((inside) => ({ ...scope, handlers: scope.handlers.with(i, { ...handler, inside }) })),
    ),
  ];
}

const NOTHING: Block = { kind: "seq", blocks: [] };

function smallerBlocks(block: Block): readonly Block[] {
  switch (block.kind) {
    case "seq":
      return [
        ...block.blocks.map((_, i): Block => ({ ...block, blocks: block.blocks.filter((_, k) => k !== i) })),
        ...block.blocks.flatMap((each, i) =>
          smallerBlocks(each).map((small): Block => ({ ...block, blocks: block.blocks.with(i, small) })),
        ),
      ];
    case "activity":
      return smallerActivities(block);
    case "fork":
      return [
        ...block.branches.map(({ body }) => body),
        ...block.branches.flatMap((branch, i) =>
          smallerBlocks(branch.body).map(
            (body): Block => ({ ...block, branches: block.branches.with(i, { ...branch, body }) }),
          ),
        ),
      ];
    case "race":
      return [
        ...block.branches.map(({ body }) => body),
        ...block.branches.flatMap((branch, i) =>
          smallerBlocks(branch.body).map(
            (body): Block => ({ ...block, branches: block.branches.with(i, { ...branch, body }) }),
          ),
        ),
      ];
    case "repeat":
      // Its first task stays, so that each iteration waits.
      return [
        block.body,
        ...smallerBlocks(block.body).flatMap((body): readonly Block[] => (begins(body) ? [{ ...block, body }] : [])),
      ];
    case "catch":
    case "throw":
    case "end":
    case "link":
      return [];
  }
}

function begins(block: Block): boolean {
  const [first] = block.kind === "seq" ? block.blocks : [];
  return first?.kind === "activity" && first.does.kind === "work" && first.many === null;
}

function smallerActivities(activity: Activity): readonly Block[] {
  const { does, boundaryEvents, many, undo } = activity;
  return [
    ...(does.kind === "sub" && !does.isTransaction ? [does.scope.body] : []),
    ...(many === null ? [] : [{ ...activity, many: null }]),
    ...(undo === null ? [] : [{ ...activity, undo: null }]),
    // A transaction keeps its cancel event.
    ...boundaryEvents.flatMap((boundary, i) =>
      boundary.on.kind === "cancel" ? [] : [{ ...activity, boundaryEvents: boundaryEvents.filter((_, k) => k !== i) }],
    ),
    ...boundaryEvents.flatMap((boundary, i) => [
      ...(isNothing(boundary.path)
        ? []
        : [{ ...activity, boundaryEvents: boundaryEvents.with(i, { ...boundary, path: NOTHING }) }]),
      ...smallerBlocks(boundary.path).map((path) => ({
        ...activity,
        boundaryEvents: boundaryEvents.with(i, { ...boundary, path }),
      })),
    ]),
    ...(does.kind === "sub" ? smaller(does.scope).map((scope) => ({ ...activity, does: { ...does, scope } })) : []),
  ];
}

function isNothing(block: Block): boolean {
  return block.kind === "seq" && block.blocks.length === 0;
}
