import { PawlError } from "../model/errors.ts";
import type { InboxEntry } from "../model/inbox.ts";
import type { AppendOp, Outcomes } from "../model/op.ts";
import type { Run } from "../model/run.ts";
import type { RunState } from "../model/transition.ts";
import type { Loaded } from "../store/store.ts";
import type { Command } from "../workflow/command.ts";
import type { Ending, Program, ProgramFactory, ProgramHost } from "../workflow/program.ts";
import { admit, tried } from "./admit.ts";
import { type Completed, Completions } from "./completions.ts";
import type { Desk } from "./desk.ts";
import { Draft } from "./draft.ts";
import { endWaits } from "./end-waits.ts";
import { endState } from "./ending.ts";
import { failurePayload } from "./failure-payload.ts";
import { JournalCursor } from "./journal-cursor.ts";
import { OpenCommands } from "./open-commands.ts";
import { replayNext } from "./replay-next.ts";
import { RowState } from "./row-state.ts";
import type { Interpreter, SessionWorld } from "./session-world.ts";
import { openRetries, readSnapshot, type Snapshot, writeSnapshot } from "./snapshot.ts";
import { Steps } from "./steps.ts";

/** Working; resting until something comes; done: its end is decided; gone: nothing it does counts any more. */
type Phase = "working" | "resting" | "done" | "gone";

/**
 * Interprets one run and knows no other.
 *
 * R1. Completions reach the program in the order of their seq, one at a time, each when the program has come to rest from the
 *     one before: in replay as it was live.
 * R2. A completion is handed to the program at once; no step body starts before every earlier record is durable.
 * R3. The presence of a record decides replay, never its value.
 * R4. A session rests when no body runs or is about to: then its waits are committed, with all else it has to add.
 * R5. A session that was refused, abandoned or forgotten changes nothing any more.
 */
export class Session implements ProgramHost, Interpreter {
  readonly kind = "source";
  readonly runId: string;
  readonly run: Run;
  readonly #world: SessionWorld;
  readonly #program: Program;
  readonly #cursor: JournalCursor;
  readonly #desk: Desk;
  readonly #row = new RowState();
  /** Issued since the last rest; nothing is fresh while records are replayed, and all is live when none are left. */
  #fresh: Command[] = [];
  #live: boolean;
  #phase: Phase = "working";
  #restAsked = false;
  #ending: Ending | null = null;
  #end: RunState | null = null;
  #snapshot: Snapshot | null;
  #deliveredSeq: number;
  #now: number;
  #inbox: readonly InboxEntry[];
  #sent: { readonly op: AppendOp | null; readonly seq: number } = { op: null, seq: 0 };
  #controller: AbortController | null = null;

  /** `before` is the session whose place this one takes, if there is one: its bodies are gone on with. */
  constructor(world: SessionWorld, loaded: Loaded, createProgram: ProgramFactory, before: Session | null = null) {
    const { run, records, snapshot } = loaded;
    this.#world = world;
    this.run = run;
    this.runId = run.id;
    this.#snapshot = snapshot === null ? null : readSnapshot(world.codec, snapshot);
    this.#cursor = new JournalCursor(records);
    this.#live = this.#cursor.done;
    this.#deliveredSeq = this.#snapshot?.seq ?? run.baseSeq;
    this.#now = this.#snapshot?.at ?? run.startedAt ?? run.createdAt;
    this.#inbox = loaded.inbox;
    const last = records.at(-1);
    const draft = new Draft(
      world.now,
      () => world.enlist(this),
      last?.seq ?? this.#deliveredSeq,
      last?.at ?? this.#now,
    );
    this.#desk = {
      draft,
      open: new OpenCommands(run.inboxLast),
      completions: new Completions(draft, () => this.#askRest()),
      steps: new Steps(world, run.id, draft.seq, (body, end) => (this.#over ? 0 : tried(this.#desk, body, end))),
      codec: world.codec,
    };
    if (before !== null) this.#desk.steps.inherit(before.#desk.steps);
    this.#program = createProgram(this);
  }

  get seq(): number {
    return this.#desk.draft.seq;
  }

  get until(): number | null {
    return this.#desk.open.until;
  }

  get resting(): boolean {
    return this.#phase === "resting";
  }

  get end(): RunState | null {
    return this.#end;
  }

  get bytes(): number {
    return this.#desk.completions.bytes;
  }

  get live(): boolean {
    return this.#live;
  }

  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    return this.#controller.signal;
  }

  start(): void {
    const inbox = this.#inbox;
    this.#inbox = [];
    if (this.#cancelledBy(inbox)) return;
    this.#desk.open.arrive(inbox);
    const input = this.#world.codec.decode(this.run.input);
    this.#world.within(this.runId, () => this.#program.start(input, this.#snapshot));
    this.#askRest();
  }

  refresh(run: Run, inbox: readonly InboxEntry[]): void {
    if (this.#over) return;
    const news = this.#desk.open.news(run, inbox);
    if (this.#cancelledBy(news)) return;
    this.#desk.open.arrive(news);
    this.#row.woken();
    this.wake();
  }

  wake(): void {
    if (this.#over) return;
    if (this.#phase === "resting") {
      this.#phase = "working";
      this.#row.woken();
      this.#world.woke(this);
    }
    this.#askRest();
  }

  release(): void {
    if (!this.#over) this.#endAs({ status: "released", at: this.#desk.draft.at });
  }

  abandon(reason: Error): void {
    this.#phase = "gone";
    this.#abort(reason);
  }

  /** Nothing it decides counts from here on; its bodies go on, for the session that takes its place. */
  leave(): void {
    this.#phase = "gone";
    this.#desk.steps.leave();
  }

  now(): number {
    return this.#now;
  }

  issue(command: Command): void {
    if (this.#over || this.#ending !== null) return;
    this.#desk.open.add(command);
    if (command.kind === "step" && this.#snapshot !== null)
      Object.assign(command, this.#snapshot.retries[command.location]);
    if (this.#live) this.#fresh.push(command);
    this.wake();
  }

  finish(ending: Ending): void {
    if (this.#over || this.#ending !== null) return;
    this.#ending = ending;
    this.wake();
  }

  snapshot(state: unknown): void {
    if (!this.#live || this.#over) return;
    const retries = openRetries(this.#desk.open.byLocation.values());
    this.#desk.draft.document(
      writeSnapshot(this.#world.codec, this.runId, { seq: this.#deliveredSeq, at: this.#now, state, retries }),
    );
  }

  takeAppend(): AppendOp | null {
    const op = this.#phase === "gone" ? null : this.#desk.draft.takeOp(this.runId, this.run.epoch);
    this.#sent = { op, seq: this.#desk.draft.seq };
    return op;
  }

  appended(outcome: Outcomes["append"]): void {
    if (this.#phase === "gone") return;
    if (outcome.kind === "lost") {
      this.#world.lost(this, outcome.reason);
      return;
    }
    const { op, seq } = this.#sent;
    if (op !== null) this.#world.committed(this, op);
    if (this.#phase === "done") {
      if (op?.state === this.#end) this.#world.ended(this);
      return;
    }
    this.#desk.steps.durable(seq);
    const still = !this.#restAsked && !this.#desk.draft.announced && !this.#desk.steps.busy;
    if (op?.state?.status === "suspended" && still) {
      this.#phase = "resting";
      this.#world.rested(this);
    }
  }

  get #over(): boolean {
    return this.#phase === "gone" || this.#phase === "done";
  }

  #askRest(): void {
    if (this.#restAsked) return;
    this.#restAsked = true;
    this.#world.turns.atRest(this.#rest);
  }

  /** The program has come to rest: the one place from which it is moved on. */
  readonly #rest = (): void => {
    this.#restAsked = false;
    if (this.#over) return;
    if (!this.#cursor.done) {
      this.#replay();
      return;
    }
    if (!this.#live) {
      this.#live = true;
      this.#fresh = [...this.#desk.open.byLocation.values()];
    }
    const fresh = this.#fresh.splice(0);
    // At its end a program has its last posts made; nobody waits for a step or a message any more.
    const asked = this.#ending === null ? fresh : fresh.filter((command) => command.kind === "post");
    admit(this.#desk, asked, this.#world.now());
    if (this.#ending !== null) {
      this.#endAs(
        endState(this.#world.codec, this.#ending, { id: this.runId, seq: this.seq, at: this.#desk.draft.at }),
      );
      return;
    }
    const next = this.#desk.completions.take();
    if (next !== null) {
      this.#hand(next);
      return;
    }
    endWaits(this.#desk, this.#world.now());
    if (this.#desk.completions.size === 0) this.#row.tell(this.#desk);
  };

  /** Feeds the next record to the program, which must have asked for it. */
  #replay(): void {
    const { open, completions, codec } = this.#desk;
    const next = replayNext({
      codec,
      runId: this.runId,
      cursor: this.#cursor,
      open,
      over: this.#ending !== null,
    });
    if (next.kind === "diverged") {
      this.#diverge(next.error);
    } else if (next.kind === "completed") {
      completions.replayed(next.payload);
      this.#hand(next.completed);
    } else {
      this.#askRest();
    }
  }

  #hand({ command, completion, seq, at }: Completed): void {
    this.#desk.open.close(command);
    this.#now = at;
    this.#deliveredSeq = seq;
    command.settle(completion);
    this.#askRest();
  }

  #diverge(error: PawlError): void {
    this.#world.log("error", error.message, { run: this.runId, code: error.code });
    this.#endAs({ status: "paused", reason: failurePayload(this.#world.codec, error, "divergence") });
  }

  #cancelledBy(news: readonly InboxEntry[]): boolean {
    const cancel = news.find((entry) => entry.kind === "cancel");
    if (cancel === undefined) return false;
    this.#desk.draft.take(cancel.n);
    this.#endAs({ status: "cancelled", outcome: cancel.value, at: this.#desk.draft.at });
    return true;
  }

  #endAs(state: RunState): void {
    this.#phase = "done";
    this.#end = state;
    this.#desk.draft.state(state);
    if (this.#desk.steps.busy || this.#controller !== null) {
      this.#abort(
        new PawlError("RUN_CANCELLED", `run ${this.runId} is ${state.status}: what this step brings is dropped`),
      );
    }
  }

  #abort(reason: Error): void {
    this.#desk.steps.abort(reason);
    this.#controller?.abort(reason);
  }
}
