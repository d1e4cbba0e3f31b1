import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Ctx, StepInfo, StepOptions } from "pawl";
import type { Entry } from "../entry.ts";
import { failureText, type StepValue, worth } from "./run-output.ts";

/** Receives the reports of step bodies. */
export interface BodyReporter {
  /** The epoch with which this process has loaded the run. */
  epochOf(runId: string): number;
  /** Resolves when the entry is durable. */
  append(entry: Entry): Promise<void>;
  now(): number;
}

export interface BodyPlan {
  /** The number of failing attempts before a success. */
  readonly fails?: number;
  /** The duration of the body. */
  readonly ms?: number;
  readonly options?: StepOptions;
}

/** The id of the run that undoes a child. Its code sees the child's id. */
const undoRunOf = (child: string): string => `${child}//~undo`;

const RETRY = { maxAttempts: 5, initialMs: 30, factor: 2, maxMs: 200 } as const;
const BODY_MS = 25;

/** The step bodies of one session of one run. Created when the workflow function is called, so that the epoch is the session's. */
export class Bodies {
  readonly #reporter: BodyReporter;
  readonly #ctx: Ctx;
  readonly #salt: string;
  readonly #round: number;
  readonly #epoch: number;
  readonly #undoEpoch: number;

  constructor(reporter: BodyReporter, ctx: Ctx, salt: string, round = 0) {
    this.#reporter = reporter;
    this.#ctx = ctx;
    this.#salt = salt;
    this.#round = round;
    this.#epoch = reporter.epochOf(ctx.runId);
    this.#undoEpoch = reporter.epochOf(undoRunOf(ctx.runId));
  }

  step(name: string, plan: BodyPlan = {}): Promise<StepValue> {
    return this.#ctx.step(name, (info) => this.#run(name, plan, info), { retry: RETRY, ...plan.options });
  }

  /** A step with a rollback, whose first attempt fails. */
  undoable(name: string): Promise<StepValue> {
    const undo = { fails: 1, ms: 5 };
    const run = async (_: unknown, info: StepInfo): Promise<void> =>
      void (await this.#run(`${name}/~rollback`, undo, info));
    return this.#ctx.step(name, (info) => this.#run(name, {}, info), { retry: RETRY, rollback: { run, retry: RETRY } });
  }

  /** Executes a step that always fails. True if it failed. */
  async failing(name: string, attempts: number): Promise<boolean> {
    const plan = { fails: attempts };
    const retry = { ...RETRY, maxAttempts: attempts };
    const result = await this.#ctx.tryStep(name, (info) => this.#run(name, plan, info), { retry });
    return !result.ok;
  }

  async #run(name: string, { fails = 0, ms = BODY_MS }: BodyPlan, info: StepInfo): Promise<StepValue> {
    const visibleId = this.#ctx.runId;
    const isUndo = info.idempotencyKey.startsWith(`${undoRunOf(visibleId)}/`);
    const runId = isUndo ? undoRunOf(visibleId) : visibleId;
    const body = randomUUID();
    await this.#reporter.append({
      kind: "begin",
      body,
      run: runId,
      round: this.#round,
      location: info.idempotencyKey.slice(runId.length + 1),
      attempt: info.attempt,
      epoch: isUndo ? this.#undoEpoch : this.#epoch,
      at: this.#reporter.now(),
    });
    await delay(ms);
    const outcome = info.attempt <= fails ? "threw" : "returned";
    await this.#reporter.append({ kind: "end", body, outcome, at: this.#reporter.now() });
    if (outcome === "threw") throw new Error(failureText(body));
    return { value: worth(this.#salt, name), body };
  }
}
