import type { Kinds } from "./generate-leaves.ts";
import type { Job } from "./job.ts";
import { savedCases } from "./saved-cases.ts";

interface Regression {
  readonly seed: number;
  /** The kind of generated programs. Default: kernel. */
  readonly kinds?: Kinds;
  readonly bug: string;
}

/** Seeds that found bugs of the engine, and find them again when the guard is removed. They are executed first in every simulation. */
const REGRESSIONS: readonly Regression[] = [
  { seed: 3, bug: "the end of a replay started the bodies of abandoned steps" },
  { seed: 17, bug: "a worker with an expired lease claimed a run and died, and no worker freed the run" },
  { seed: 60, bug: "a refused timeout discarded the running bodies of the run" },
  { seed: 294, bug: "the result of a suspended run that another worker cancelled was never delivered" },
  { seed: 305, bug: "a late answer to a heartbeat discarded a run that was claimed after it" },
  { seed: 535, bug: "the end of a replay repeated posts" },
  { seed: 10_683, bug: "a suspect that was lost before its execution blocked every other suspect" },
  {
    seed: 667,
    kinds: "all",
    bug: "a suspect that only changed its waits left its group; another was claimed beside it, and its crashes were blamed on the first",
  },
  {
    seed: 2_283,
    kinds: "all",
    bug: "a run was migrated between a timeout's record and the next commands of its program; the stale wait in its row was used",
  },
  {
    seed: 941,
    kinds: "all",
    bug: "a cancel during the append of a timeout queued the run twice, and the answer to its end was not recognized",
  },
  {
    seed: 1_164,
    kinds: "all",
    bug: "a cancel during a step ended the run without rolling the step back",
  },
  { seed: 1_612, kinds: "all", bug: "a replay delivered the next record before the program was idle" },
  {
    seed: 13_650,
    kinds: "all",
    bug: "a late answer to a start was used for a later start of the same run, which was lost in between",
  },
  {
    seed: 109,
    kinds: "all",
    bug: "a load discarded the session of a freed run while the heartbeat that took the run back was under way",
  },
  {
    seed: 2_100,
    kinds: "all",
    bug: "retention deleted rows after another call had reported that the store must not be used",
  },
];

export const REGRESSION_COUNT = REGRESSIONS.length + savedCases().length;

export function* regressionJobs(dist: string | null): Generator<Job> {
  yield { kind: "cases", dist, cases: savedCases() };
  for (const { seed, kinds = "kernel" } of REGRESSIONS)
    yield { kind: "seeds", dist, kinds, from: seed, count: 1, stopAtFirst: true };
}
