import { isTrue, type Node, type Part, type World } from "./world.ts";

/** Whether an activity is done with those of its instances that are. */
export function isEnough(
  world: World,
  { activity: { many }, ended, total }: Extract<Part, { kind: "activity" }>,
): boolean {
  if (many === null) return true;
  if (many.kind === "rounds") return (many.max !== null && ended >= many.max) || !isTrue(world, many.goesOn);
  return ended === total || (many.enough !== null && ended >= many.enough);
}

/** What an instance gives and is gathered stays its own otherwise. */
export function isGathered({ part }: Node): boolean {
  return (
    part.kind === "activity" &&
    part.activity.many !== null &&
    "gathers" in part.activity.many &&
    part.activity.many.gathers
  );
}
