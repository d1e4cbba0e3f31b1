import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import type { Ctx, StepInfo, StepOptions } from "pawl";
import type { Entry } from "../entry.ts";
import { failureText, type StepValue, worth } from "./told.ts";

/** Where step bodies report what they do. */
export interface Witness {
  /** The epoch under which this process has loaded the run. */
  epochOf(runId: string): number;
  /** Resolves when the ledger has it. */
  append(entry: Entry): Promise<void>;
  now(): number;
}

export interface BodyPlan {
  /** How many tries fail before one does not. */
  readonly fails?: number;
  /** How long the body works. */
  readonly ms?: number;
  readonly options?: StepOptions;
}

const RETRY = { maxAttempts: 5, initialMs: 30, factor: 2, maxMs: 200 } as const;
const BODY_MS = 25;

/** The step bodies of one session of one run. Made when the workflow's function is entered: then the epoch is the session's. */
export class Bodies {
  readonly #witness: Witness;
  readonly #ctx: Ctx;
  readonly #salt: string;
  readonly #round: number;
  readonly #epoch: number;

  constructor(witness: Witness, ctx: Ctx, salt: string, round = 0) {
    this.#witness = witness;
    this.#ctx = ctx;
    this.#salt = salt;
    this.#round = round;
    this.#epoch = witness.epochOf(ctx.runId);
  }

  step(name: string, plan: BodyPlan = {}): Promise<StepValue> {
    return this.#ctx.step(name, (info) => this.#run(name, plan, info), { retry: RETRY, ...plan.options });
  }

  /** Whether a step that fails each time has failed. */
  async failing(name: string, attempts: number): Promise<boolean> {
    const plan = { fails: attempts };
    const retry = { ...RETRY, maxAttempts: attempts };
    const result = await this.#ctx.tryStep(name, (info) => this.#run(name, plan, info), { retry });
    return !result.ok;
  }

  async #run(name: string, { fails = 0, ms = BODY_MS }: BodyPlan, info: StepInfo): Promise<StepValue> {
    const { runId } = this.#ctx;
    const body = randomUUID();
    await this.#witness.append({
      kind: "begin",
      body,
      run: runId,
      round: this.#round,
      location: info.idempotencyKey.slice(runId.length + 1),
      attempt: info.attempt,
      epoch: this.#epoch,
      at: this.#witness.now(),
    });
    await delay(ms);
    const outcome = info.attempt <= fails ? "threw" : "returned";
    await this.#witness.append({ kind: "end", body, outcome, at: this.#witness.now() });
    if (outcome === "threw") throw new Error(failureText(body));
    return { value: worth(this.#salt, name), body };
  }
}
