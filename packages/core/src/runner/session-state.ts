import type { Codec } from "../model/payload.ts";
import { NO_POLICY, type RunPolicy } from "../model/policy.ts";
import type { Run } from "../model/run.ts";
import type { Loaded } from "../store/store.ts";
import { AttachedChildren } from "./attached-children.ts";
import { Completions } from "./completions.ts";
import { deadlineOf, Limits, ProgressClock, type Warned, waitSinceProgress } from "./limits.ts";
import { LoopRecords } from "./loop-records.ts";
import { OpenCommands } from "./open-commands.ts";
import { editionOf } from "./operator-records.ts";
import { PendingAppend } from "./pending-append.ts";
import type { SessionServices, SessionStateListener } from "./session-ports.ts";
import type { Snapshot } from "./snapshot.ts";
import { StepRunner } from "./step-runner.ts";
import { UndoLog } from "./undo-log.ts";

/** The parts of a session: open commands, completions, running steps, and what the next commit adds. */
export interface SessionState {
  readonly open: OpenCommands;
  readonly completions: Completions;
  readonly steps: StepRunner;
  readonly pending: PendingAppend;
  readonly codec: Codec;
  readonly loopRecords: LoopRecords;
  readonly undo: UndoLog;
  readonly children: AttachedChildren;
  /** Whether the session has replayed the whole journal. After a snapshot, `undo` and `children` may lack earlier records. */
  readonly isWhole: boolean;
  readonly progress: ProgressClock;
  /** Null if the run has no limits. */
  readonly limits: Limits | null;
  /** How many operator actions have redirected the run: rewind, retry, fork. */
  readonly edition: number;
  /** The time of the last such action. Null if there was none. */
  readonly redirectedAt: number | null;
}

/** Creates the parts of a session from a loaded run. The next record follows the newest loaded one. */
export function createSessionState(
  services: SessionServices,
  loaded: Loaded,
  snapshot: Snapshot | null,
  listener: SessionStateListener,
): SessionState {
  const { run, records } = loaded;
  const startedAt = run.startedAt ?? run.createdAt;
  const newest = records.at(-1) ?? snapshot ?? { seq: run.baseSeq, at: startedAt };
  const { seq } = newest;
  // The copied records of a fork are older than the fork.
  const at = Math.max(newest.at, startedAt);
  const loopRecords = new LoopRecords();
  const count = snapshot === null ? records.length : seq - run.baseSeq;
  const pending = new PendingAppend(services.time.now, listener, loopRecords, { seq, at, undo: run.undo, count });
  const children = new AttachedChildren();
  const undo = new UndoLog();
  const { edition, redirectedAt } = editionOf(loaded, snapshot);
  return {
    pending,
    open: new OpenCommands(run.inboxLast),
    completions: new Completions(pending, listener, { children, undo }),
    steps: new StepRunner(services, { id: run.id, durableSeq: seq }, listener),
    codec: services.codec,
    loopRecords,
    undo,
    children,
    isWhole: snapshot === null,
    progress: new ProgressClock(waitSinceProgress(run, records), seq),
    edition,
    redirectedAt,
    limits: limitsOf(services.policyOf(run), run, { redirectedAt, warned: snapshot?.warned ?? {} }),
  };
}

function limitsOf(
  policy: RunPolicy | null,
  run: Run,
  { redirectedAt, warned }: { readonly redirectedAt: number | null; readonly warned: Warned },
): Limits | null {
  const deadlineAt = deadlineOf(run, redirectedAt);
  if (policy === null && deadlineAt === null) return null;
  const { id, createdAt, startedAt } = run;
  return new Limits(policy ?? NO_POLICY, { id, createdAt, startedAt: redirectedAt ?? startedAt, deadlineAt }, warned);
}
