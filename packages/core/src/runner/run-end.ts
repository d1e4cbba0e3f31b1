import { PawlError } from "../model/errors.ts";
import type { Codec } from "../model/payload.ts";
import { withRollbackFailures } from "../model/rollback-failure.ts";
import type { RunState } from "../model/transition.ts";
import type { Ending } from "../workflow/program.ts";
import type { Compensated } from "./compensation.ts";
import { failurePayload } from "./failure-payload.ts";
import { divergenceOf } from "./replay.ts";
import type { SessionServices } from "./session-ports.ts";

/** Returns the run's state after its program ended. An output that cannot be stored makes the run fail. */
export function endState(
  codec: Codec,
  ending: Ending | Compensated,
  runId: string,
  { seq, at }: { readonly seq: number; readonly at: number },
): RunState {
  try {
    switch (ending.kind) {
      case "completed":
        return { status: "completed", outcome: codec.encode(ending.output, `output of run ${runId}`), at };
      case "failed":
        return { status: "failed", outcome: failurePayload(codec, ending.error, `failure of run ${runId}`), at };
      case "compensated":
        return { status: ending.end, outcome: withRollbackFailures(codec, ending.reason, ending.failures), at };
      case "continued": {
        const input = codec.encode(ending.input, `input of run ${runId}`);
        const { workflow, version } = ending;
        // The end of a generation takes a seq, so a reader of the old journal sees that the run has advanced.
        return { status: "continued", workflow, version, input, baseSeq: seq + 1, at };
      }
    }
  } catch (error) {
    return { status: "failed", outcome: failurePayload(codec, error, `failure of run ${runId}`), at };
  }
}

/** Returns the ending, or a failure if its output cannot be stored. */
export function storableEnding(codec: Codec, runId: string, ending: Ending): Ending {
  try {
    if (ending.kind === "completed") codec.encode(ending.output, `output of run ${runId}`);
    if (ending.kind === "continued") codec.encode(ending.input, `input of run ${runId}`);
    return ending;
  } catch (error) {
    return { kind: "failed", error };
  }
}

/** Returns the state of a diverged run: paused, until an operator deploys compatible code and resumes it. */
export function pausedState(
  { codec, log }: Pick<SessionServices, "codec" | "log">,
  runId: string,
  error: PawlError,
): RunState {
  log("error", "run diverged; paused", {
    run: runId,
    location: divergenceOf(error)?.location,
    code: error.code,
    error: error.message,
  });
  return { status: "paused", reason: failurePayload(codec, error, "divergence") };
}

/** The reason that running steps are aborted with when their run ends or compensates. */
export function discardedError(runId: string, status: string): PawlError {
  return new PawlError("RUN_CANCELLED", `run ${runId} is ${status}; the result of this step is discarded`);
}
