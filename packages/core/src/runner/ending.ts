import type { Codec } from "../model/payload.ts";
import type { RunState } from "../model/transition.ts";
import type { Ending } from "../workflow/program.ts";
import { failurePayload } from "./failure-payload.ts";

/** What a program's ending makes of its run. An output that can't be kept is a failure. */
export function endState(
  codec: Codec,
  ending: Ending,
  run: { readonly id: string; readonly seq: number; readonly at: number },
): RunState {
  const { at } = run;
  try {
    switch (ending.kind) {
      case "completed":
        return { status: "completed", outcome: codec.encode(ending.output, `output of run ${run.id}`), at };
      case "failed":
        return { status: "failed", outcome: failurePayload(codec, ending.error, `failure of run ${run.id}`), at };
      case "continued": {
        const input = codec.encode(ending.input, `input of run ${run.id}`);
        return { status: "continued", workflow: ending.workflow, version: ending.version, input, baseSeq: run.seq, at };
      }
    }
  } catch (error) {
    return { status: "failed", outcome: failurePayload(codec, error, `failure of run ${run.id}`), at };
  }
}
