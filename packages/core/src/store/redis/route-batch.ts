import { segmentName } from "../../model/location.ts";
import type { DocumentChange, Transition } from "../../model/transition.ts";
import { placeOf } from "./partitions.ts";

/** Part of a batch: for each transition its place in the whole. */
export interface Share {
  readonly indexes: number[];
  readonly transitions: Transition[];
}

/** Where a dead letter lies that does not tell by its id; null: nowhere. */
export type FindLetter = (letterId: string) => Promise<number | null>;

/** Deals a batch out to partitions. Transitions of one run, and posts to it, stay in order. */
export async function routeBatch(
  batch: readonly Transition[],
  count: number,
  findLetter: FindLetter,
): Promise<ReadonlyMap<number, Share>> {
  const shares = new Map<number, Share>();
  const give = (place: number, index: number, transition: Transition): void => {
    const share = shares.get(place) ?? { indexes: [], transitions: [] };
    share.indexes.push(index);
    share.transitions.push(transition);
    shares.set(place, share);
  };
  for (const [index, transition] of batch.entries()) {
    for (const [place, part] of await partsOf(transition, count, findLetter)) give(place, index, part);
  }
  return shares;
}

type Part = readonly [place: number, transition: Transition];

async function partsOf(transition: Transition, count: number, findLetter: FindLetter): Promise<readonly Part[]> {
  const whole = (place: number): readonly Part[] => [[place, transition]];
  switch (transition.kind) {
    case "create":
      return whole(placeOf(transition.run.id, count));
    case "append":
    case "control":
      return whole(placeOf(transition.runId, count));
    case "post":
      return whole(placeOf(targetOf(transition.post), count));
    case "letter": {
      const { letterId, post } = transition;
      const place = letterPlace(letterId, count) ?? (await findLetter(letterId));
      return whole(place ?? (post === null ? 0 : placeOf(targetOf(post), count)));
    }
    case "documents":
      return documentParts(transition.documents, count);
    case "revise":
      return whole(homeOf(transition.document, count));
  }
}

function targetOf(post: Extract<Transition, { kind: "post" }>["post"]): string {
  return post.kind === "event" ? post.topic : post.to;
}

/** That of a message begins with its target, and lies where that is. That of an event does not tell its topic: null. */
export function letterPlace(letterId: string, count: number): number | null {
  const end = letterId.indexOf("//");
  return end < 0 ? null : placeOf(segmentName(letterId.slice(0, end)), count);
}

/** One that belongs to a run is where the run is. What is put has to be there alone, and what is removed may be anywhere. */
function documentParts(changes: readonly DocumentChange[], count: number): readonly Part[] {
  return Array.from({ length: count }, (_, place): Part => {
    const documents = changes.flatMap((change): DocumentChange[] => {
      if ("create" in change) return homeOf(change.create, count) === place ? [change] : [];
      if (!("put" in change) || homeOf(change.put, count) === place) return [change];
      return [{ remove: { kind: change.put.kind, id: change.put.id } }];
    });
    return [place, { kind: "documents", documents }];
  });
}

function homeOf({ kind, id, runId }: { kind: string; id: string; runId: string | null }, count: number): number {
  return placeOf(runId ?? `${kind}/${id}`, count);
}
