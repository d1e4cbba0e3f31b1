import type { Post } from "../model/transition.ts";
import type { Command, MarkCommand } from "../workflow/command.ts";
import type { Body, TryEnd } from "./body.ts";
import type { Desk } from "./desk.ts";

/** Fresh commands take effect: posts complete, waits open, steps start or go on backing off. Only those that do ask for the time. */
export function admit(desk: Desk, fresh: readonly Command[], now: () => number): void {
  const { open, completions, steps, draft, codec } = desk;
  for (const command of fresh) {
    if (!open.holds(command)) continue;
    if (command.kind === "mark") {
      mark(desk, command);
    } else if (command.kind === "post") {
      const { detail } = command;
      const { payload, value } = codec.roundTrip(command.value, `result of ${command.location}`);
      draft.post(madeAt(command.post, draft.at));
      completions.add(command, { outcome: "ok", payload, completion: { outcome: "ok", value, detail }, detail });
    } else if (command.kind === "wait") {
      open.wait(command);
    } else if (command.retryAt > 0 && command.retryAt > now()) {
      open.retry(command);
    } else {
      steps.hold(command, completions.firmSeq);
    }
  }
}

/** A child is as old as it is, whatever time its program takes it to be: a fork goes on from an old history. */
function madeAt(post: Post, at: number): Post {
  return post.kind === "start" ? { ...post, run: { ...post.run, createdAt: at } } : post;
}

function mark({ completions, draft, trail, codec }: Desk, command: MarkCommand): void {
  const { detail, trim } = command;
  const { payload, value } = codec.roundTrip(command.value, `value of ${command.location}`);
  if (trim !== null) draft.trim(trail.drop(trim.loop, trim.below));
  completions.add(command, { outcome: "ok", payload, completion: { outcome: "ok", value, detail }, detail });
}

/** One try of a step has ended: for good, or until the next. */
export function tried({ open, completions }: Desk, body: Body, end: TryEnd): void {
  const { step } = body;
  if (end.kind === "completed") {
    completions.add(step, end, body);
    return;
  }
  step.attempts = body.attempt;
  step.retryAt = end.retryAt;
  open.retry(step);
  completions.addRetry(step, end.payload, body);
}
