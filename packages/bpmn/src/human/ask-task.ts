import { createHash } from "node:crypto";
import type { Ctx, Duration } from "pawl";
import type { Variables } from "../machine/state.ts";
import type { NewTask } from "./task-document.ts";

/** What a workflow asks of people. After `timeout` the task is cancelled. */
export interface AskOptions extends Omit<NewTask, "id" | "name" | "notify"> {
  readonly timeout?: Duration;
}

/** How a task for which a workflow waited has ended. */
export type TaskOutcome =
  | {
      readonly state: "completed";
      readonly task: string;
      /** The user who completed it. Null if the call named none. */
      readonly by: string | null;
      readonly variables: Variables;
    }
  | { readonly state: "cancelled" | "timedOut"; readonly task: string };

/** Identifies a question: the run, the key of its step, and the time of the run, which only a rewind changes. */
export interface Question {
  readonly task: Omit<NewTask, "id" | "notify">;
  readonly runId: string;
  readonly key: string;
  readonly since: number;
}

/** What asking needs of the tasks. Both may be called again after a crash. */
interface Asking {
  /** Creates the task, or returns the id of the one that an earlier attempt has created. */
  open(question: Question): Promise<string>;
  /** Cancels the task if it is open. Returns its state then. */
  close(task: string): Promise<"completed" | "cancelled">;
}

/** The message that ends the wait. It is sent in the commit that ends the task. */
interface Ended {
  readonly state: "completed" | "cancelled";
  readonly by?: string | null;
  readonly variables?: Variables;
}

/** Creates a task in a step of the workflow, and waits for its end. */
export async function askTask(
  ctx: Ctx,
  name: string,
  { timeout, ...rest }: AskOptions,
  asking: Asking,
): Promise<TaskOutcome> {
  const { runId } = ctx;
  const since = ctx.now();
  const task = await ctx.step(name, ({ idempotencyKey }) =>
    asking.open({ task: { ...rest, name }, runId, key: idempotencyKey, since }),
  );
  const message = endMessage(task);
  const wait = { name: `${name} ended` };
  if (timeout === undefined) return outcomeOf(task, (await ctx.listen<Ended>(message, wait)).value);
  const ended = await ctx.listen<Ended>(message, { ...wait, timeout });
  if (!ended.timedOut) return outcomeOf(task, ended.value);
  // The task may have been completed just before it could be cancelled. Then its message is there.
  const state = await ctx.step(`${name} timed out`, () => asking.close(task));
  if (state === "cancelled") return { state: "timedOut", task };
  return outcomeOf(task, (await ctx.listen<Ended>(message, wait)).value);
}

/** The name of the message to the run, whose length does not depend on the id. */
export function endMessage(task: string): string {
  return `task ${createHash("sha256").update(task).digest("hex").slice(0, 32)}`;
}

function outcomeOf(task: string, { state, by = null, variables = {} }: Ended): TaskOutcome {
  return state === "completed" ? { state, task, by, variables } : { state, task };
}
