import type { Loaded } from "../store/store.ts";
import { turnedOf } from "./acts.ts";
import { Completions } from "./completions.ts";
import type { Desk } from "./desk.ts";
import type { DeskListener } from "./desk-listener.ts";
import { Draft } from "./draft.ts";
import { Limits } from "./limits.ts";
import { OpenCommands } from "./open-commands.ts";
import type { SessionWorld } from "./session-world.ts";
import type { Snapshot } from "./snapshot.ts";
import { Standstill, standingWait } from "./standstill.ts";
import { Steps } from "./steps.ts";
import { Trail } from "./trail.ts";
import { UndoLog } from "./undo-log.ts";

/** What a session works with, as its run was read: the next record follows the newest one. */
export function createDesk(
  world: SessionWorld,
  loaded: Loaded,
  snapshot: Snapshot | null,
  listener: DeskListener,
): Desk {
  const { run, records } = loaded;
  const begunAt = run.startedAt ?? run.createdAt;
  const newest = records.at(-1) ?? snapshot ?? { seq: run.baseSeq, at: begunAt };
  const { seq } = newest;
  // The history of a fork is older than the fork.
  const at = Math.max(newest.at, begunAt);
  const trail = new Trail();
  const count = snapshot === null ? records.length : seq - run.baseSeq;
  const draft = new Draft(world.now, listener, trail, { seq, at, undo: run.undo, count });
  const policy = world.policyOf(run);
  const { edition, turnedAt } = turnedOf(loaded, snapshot);
  return {
    draft,
    open: new OpenCommands(run.inboxLast),
    completions: new Completions(draft, listener),
    steps: new Steps(world, { id: run.id, durableSeq: seq }, listener),
    codec: world.codec,
    trail,
    undo: new UndoLog(),
    standstill: new Standstill(standingWait(run, records), seq),
    edition,
    turnedAt,
    limits:
      policy === null
        ? null
        : new Limits(policy, { ...run, startedAt: turnedAt ?? run.startedAt }, snapshot?.warned ?? {}),
  };
}
