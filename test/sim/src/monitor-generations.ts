import type { Transition } from "pawl";
import type { ExpectedRun } from "./expected-run.ts";
import { knowPosted } from "./monitor-operator-actions.ts";
import type { ExpectedState } from "./simulation-context.ts";

type Control = Extract<Transition, { kind: "control" }>;

/** Whether a row keeps an ended generation of a run that has started again. It is never executed. */
export function isEndedGeneration(id: string): boolean {
  return /\/\/~generation\/\d+$/.test(id);
}

/** A run starts again: the ended generation is kept as it was, and the next one has nothing of it but its children. */
export function startAgain(monitor: ExpectedState, expectedRun: ExpectedRun, { posts }: Control): void {
  const { row, journal } = expectedRun;
  const [kept] = posts.flatMap((post) => (post.kind === "start" && isEndedGeneration(post.run.id) ? [post] : []));
  const end = kept?.history?.life?.end;
  const isSame =
    kept?.run.id === `${row.id}//~generation/${row.generation}` &&
    kept.run.input === row.input &&
    end !== undefined &&
    end.status === row.status &&
    end.outcome === row.outcome &&
    kept.history?.life?.seqs.join() === journal.map(({ seq }) => seq).join() &&
    kept.history.records.map(textOf).join() === journal.map(textOf).join();
  if (!isSame) monitor.violate("I1", `run ${row.id} started again, and its generation ${row.generation} was not kept`);
  expectedRun.journal = [];
  expectedRun.history = [];
  expectedRun.actions.clear();
  expectedRun.doneBy.clear();
  expectedRun.retries.clear();
  knowPosted(expectedRun);
  expectedRun.reopened += 1;
}

function textOf({ location, kind, payload }: { location: string; kind: string; payload: string | null }): string {
  return [location, kind, payload].join(" ");
}
