import { PawlError } from "../../model/errors.ts";
import type { Answer, Transition } from "../../model/transition.ts";

/** Applies what is data alone, and refuses the rest: a script can't wait for code that is elsewhere. */
export async function withoutCode<Applied extends { readonly answers: readonly Answer[] }>(
  transitions: readonly Transition[],
  apply: (data: readonly Transition[]) => Promise<Applied>,
): Promise<Applied> {
  if (!transitions.some(hasCode)) return await apply(transitions);
  const applied = await apply(transitions.filter((transition) => !hasCode(transition)));
  const left = applied.answers.values();
  const answers = transitions.map((one) => (hasCode(one) ? codeRefused() : (left.next().value as Answer)));
  return { ...applied, answers };
}

function hasCode(transition: Transition): boolean {
  return transition.kind === "append" && transition.transaction !== null;
}

function codeRefused(): Answer {
  const text = "Redis has no transaction that code could take part in; do the work in a step, with its idempotency key";
  return { kind: "refused", reason: "threw", error: new PawlError("TX_UNSUPPORTED", text) };
}
