import { segmentName } from "../../model/location.ts";
import type { DocumentChange, Transition } from "../../model/transition.ts";
import { partitionOf } from "./partitions.ts";

/** The part of a batch that one partition applies. */
export interface PartitionBatch {
  /** The index of each transition in the whole batch. */
  readonly indexes: number[];
  readonly transitions: Transition[];
}

/** Searches all partitions for a dead letter. Null if none has it. */
type FindLetter = (letterId: string) => Promise<number | null>;

/** Splits a batch by partition. Transitions of one run, and posts to it, stay in order. */
export async function routeBatch(
  batch: readonly Transition[],
  count: number,
  findLetter: FindLetter,
): Promise<ReadonlyMap<number, PartitionBatch>> {
  const batches = new Map<number, PartitionBatch>();
  const add = (partition: number, index: number, transition: Transition): void => {
    const own = batches.get(partition) ?? { indexes: [], transitions: [] };
    own.indexes.push(index);
    own.transitions.push(transition);
    batches.set(partition, own);
  };
  for (const [index, transition] of batch.entries()) {
    for (const [partition, part] of await partsOf(transition, count, findLetter)) add(partition, index, part);
  }
  return batches;
}

type Part = readonly [partition: number, transition: Transition];

async function partsOf(transition: Transition, count: number, findLetter: FindLetter): Promise<readonly Part[]> {
  const whole = (partition: number): readonly Part[] => [[partition, transition]];
  switch (transition.kind) {
    case "create":
      return whole(partitionOf(transition.run.id, count));
    case "append":
    case "control":
      return whole(partitionOf(transition.runId, count));
    case "post":
      return whole(partitionOf(targetOf(transition.post), count));
    case "letter": {
      const { letterId, post } = transition;
      const partition = letterPartition(letterId, count) ?? (await findLetter(letterId));
      return whole(partition ?? (post === null ? 0 : partitionOf(targetOf(post), count)));
    }
    case "documents":
      return documentParts(transition.documents, count);
    case "revise":
      return whole(documentPartition(transition.document, count));
  }
}

function targetOf(post: Extract<Transition, { kind: "post" }>["post"]): string {
  return post.kind === "event" ? post.topic : post.to;
}

/** The id of a message's dead letter begins with its target run. Null for an event, because that id does not contain the topic. */
export function letterPartition(letterId: string, count: number): number | null {
  const end = letterId.indexOf("//");
  return end < 0 ? null : partitionOf(segmentName(letterId.slice(0, end)), count);
}

/**
 * A document of a run is in the partition of the run. A put also removes the document from all other partitions, so that only one has
 * it. Marks and removals go to all partitions.
 */
function documentParts(changes: readonly DocumentChange[], count: number): readonly Part[] {
  return Array.from({ length: count }, (_, partition): Part => {
    const documents = changes.flatMap((change): DocumentChange[] => {
      if ("create" in change) return documentPartition(change.create, count) === partition ? [change] : [];
      if (!("put" in change) || documentPartition(change.put, count) === partition) return [change];
      return [{ remove: { kind: change.put.kind, id: change.put.id } }];
    });
    return [partition, { kind: "documents", documents }];
  });
}

function documentPartition(
  { kind, id, runId }: { kind: string; id: string; runId: string | null },
  count: number,
): number {
  return partitionOf(runId ?? `${kind}/${id}`, count);
}
