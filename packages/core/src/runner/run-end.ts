import { durationText } from "../model/duration.ts";
import { PawlError } from "../model/errors.ts";
import { type Codec, isUnreadable } from "../model/payload.ts";
import { withRollbackFailures } from "../model/rollback-failure.ts";
import type { Payload } from "../model/run.ts";
import type { RunState } from "../model/transition.ts";
import type { FinalEnding } from "../workflow/program.ts";
import type { Compensated } from "./compensation.ts";
import { failurePayload } from "./failure-payload.ts";
import { unreadableAt, unreadableLocation } from "./read-payload.ts";
import { divergenceOf } from "./replay.ts";
import type { SessionServices } from "./session-ports.ts";

/** Returns the run's state after its program ended. An output that cannot be stored makes the run fail. */
export function endState(
  codec: Codec,
  ending: FinalEnding | Compensated,
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
        return { status: ending.end, outcome: compensatedOutcome(codec, ending), at };
      case "continued": {
        const input = codec.encode(ending.input, `input of run ${runId}`);
        const { workflow, version } = ending;
        // The end of a generation takes a seq, so a reader of the old journal sees that the run has advanced.
        return { status: "continued", workflow, version, input, baseSeq: seq + 1, at };
      }
    }
  } catch (error) {
    if (isUnreadable(error)) throw error;
    return { status: "failed", outcome: failurePayload(codec, error, `failure of run ${runId}`), at };
  }
}

/** Returns the ending, or a failure if its output cannot be stored. */
export function storableEnding(codec: Codec, runId: string, ending: FinalEnding): FinalEnding {
  try {
    if (ending.kind === "completed") codec.encode(ending.output, `output of run ${runId}`);
    if (ending.kind === "continued") codec.encode(ending.input, `input of run ${runId}`);
    return ending;
  } catch (error) {
    return { kind: "failed", error };
  }
}

function compensatedOutcome(codec: Codec, { reason, failures }: Compensated): Payload {
  try {
    return withRollbackFailures(codec, reason, failures);
  } catch (error) {
    throw isUnreadable(error) ? unreadableAt("the reason of its compensation", error) : error;
  }
}

/**
 * Returns the state of a run that cannot continue here: paused, until it is resumed. A diverged run needs compatible code, a run whose
 * code threw a programming error needs fixed code, and a run with an unreadable payload needs a worker whose codec reads it.
 */
export function pausedState(
  { codec, log }: Pick<SessionServices, "codec" | "log">,
  runId: string,
  error: PawlError,
): RunState {
  const reason = isUnreadable(error) ? unreadableRun(runId, error) : error;
  log("error", pauseText(reason), {
    run: runId,
    location: divergenceOf(error)?.location ?? unreadableLocation(error) ?? undefined,
    code: reason.code,
    error: reason.message,
    ...(error.code === "CODE_ERROR" && error.cause instanceof Error ? { stack: error.cause.stack } : {}),
  });
  return { status: "paused", reason: failurePayload(codec, reason, "reason of the pause") };
}

function pauseText({ code }: PawlError): string {
  switch (code) {
    case "PAYLOAD_UNREADABLE":
      return "payload unreadable; run paused";
    case "CODE_ERROR":
      return "workflow code threw a programming error; run paused";
    default:
      return "run diverged; paused";
  }
}

function unreadableRun(runId: string, error: PawlError): PawlError {
  return new PawlError(
    "PAYLOAD_UNREADABLE",
    `run ${runId} is paused: ${error.message}; nothing was changed; ` +
      "start a worker with the codec that wrote the value, then resume the run",
    { cause: error.cause },
  );
}

/** The reason that the signals of running steps are aborted with when their run stops. */
export function stoppedError(runId: string, graceMs: number): PawlError {
  return new PawlError("RUN_CANCELLED", `run ${runId} is stopping; this step has ${durationText(graceMs)} to end`);
}

/** The reason that running steps are aborted with when their run ends or compensates. */
export function discardedError(runId: string, status: string): PawlError {
  return new PawlError("RUN_CANCELLED", `run ${runId} is ${status}; the result of this step is discarded`);
}
