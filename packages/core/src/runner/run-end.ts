import { PawlError } from "../model/errors.ts";
import type { Codec } from "../model/payload.ts";
import { withRollbackFailures } from "../model/rollback-failure.ts";
import type { RunState } from "../model/transition.ts";
import type { Ending } from "../workflow/program.ts";
import type { Undone } from "./compensation.ts";
import { failurePayload } from "./failure-payload.ts";
import type { SessionServices } from "./session-ports.ts";

/** What a program's ending makes of its run. An output that can't be kept is a failure. */
export function endState(
  codec: Codec,
  ending: Ending | Undone,
  runId: string,
  { seq, at }: { readonly seq: number; readonly at: number },
): RunState {
  try {
    switch (ending.kind) {
      case "completed":
        return { status: "completed", outcome: codec.encode(ending.output, `output of run ${runId}`), at };
      case "failed":
        return { status: "failed", outcome: failurePayload(codec, ending.error, `failure of run ${runId}`), at };
      case "undone":
        return { status: ending.end, outcome: withRollbackFailures(codec, ending.reason, ending.failures), at };
      case "continued": {
        const input = codec.encode(ending.input, `input of run ${runId}`);
        const { workflow, version } = ending;
        // The end of a generation has a seq of its own: whoever has read the journal before it sees that it has moved on.
        return { status: "continued", workflow, version, input, baseSeq: seq + 1, at };
      }
    }
  } catch (error) {
    return { status: "failed", outcome: failurePayload(codec, error, `failure of run ${runId}`), at };
  }
}

/** An ending whose output can't be kept is a failure. */
export function keepable(codec: Codec, runId: string, ending: Ending): Ending {
  try {
    if (ending.kind === "completed") codec.encode(ending.output, `output of run ${runId}`);
    if (ending.kind === "continued") codec.encode(ending.input, `input of run ${runId}`);
    return ending;
  } catch (error) {
    return { kind: "failed", error };
  }
}

/** The state of a run whose code does not fit its journal: it waits for someone who mends it. */
export function pausedState(
  { codec, log }: Pick<SessionServices, "codec" | "log">,
  runId: string,
  error: PawlError,
): RunState {
  log("error", error.message, { run: runId, code: error.code });
  return { status: "paused", reason: failurePayload(codec, error, "divergence") };
}

/** What step bodies hear when their run needs them no more. */
export function droppedWith(runId: string, why: string): PawlError {
  return new PawlError("RUN_CANCELLED", `run ${runId} ${why}: what this step brings is dropped`);
}
