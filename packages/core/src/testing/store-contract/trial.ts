import type { InboxEntry } from "../../model/inbox.ts";
import type { NewRun, Run, Wait } from "../../model/run.ts";
import type { Answer, PostAnswer, Transition } from "../../model/transition.ts";
import { wholeRun } from "../../operator/action.ts";
import type { Commit, Store } from "../../store/store.ts";
import { append, create, message, ORDER, post, suspended, T0 } from "./builders.ts";
import type { Expect } from "./harness.ts";
import { ManualWorld } from "./manual-world.ts";

/** A case of the suite. `name` is the title of its test. */
export interface Case {
  readonly name: string;
  run(trial: Trial): Promise<void>;
}

/** A store under test, with short methods for the calls that most cases make. */
export class Trial {
  readonly store: Store;
  readonly world: ManualWorld;
  readonly expect: Expect;
  /** Opens another store over the same data. Null if the data cannot be shared. */
  readonly another: (() => Promise<Store>) | null;

  constructor(parts: { store: Store; world: ManualWorld; expect: Expect; another: (() => Promise<Store>) | null }) {
    this.store = parts.store;
    this.world = parts.world;
    this.expect = parts.expect;
    this.another = parts.another;
  }

  commit(...transitions: Transition[]): Promise<Commit> {
    return this.store.commit(transitions);
  }

  async answer(transition: Transition): Promise<Answer> {
    const { answers } = await this.commit(transition);
    if (answers[0] === undefined) throw new Error("the commit returned no answer");
    return answers[0];
  }

  /** Commits transitions and expects that each is applied for the first time. */
  async applied(...transitions: Transition[]): Promise<Commit> {
    const commit = await this.commit(...transitions);
    for (const answer of commit.answers) this.expect(answer).toMatchObject({ kind: "applied", again: false });
    return commit;
  }

  /** Commits a post that no run sends, and returns its answer. */
  async posted(directPost: Extract<Transition, { kind: "post" }>["post"]): Promise<PostAnswer | null> {
    const answer = await this.answer(post(directPost));
    return answer.kind === "applied" ? answer.post : null;
  }

  /** Creates runs owned by worker `w`, at epoch 1. */
  async owned(...ids: string[]): Promise<void> {
    await this.applied(...ids.map((id) => create(id, { owner: "w" })));
  }

  /** Creates a suspended run owned by worker `w`, at epoch 1 and turn 1. */
  async waiting(id: string, wait: Partial<Wait>, over: Partial<NewRun> = {}): Promise<void> {
    await this.applied(create(id, { owner: "w", ...over }), append(id, { state: suspended(wait) }));
  }

  async completed(id: string): Promise<void> {
    const state = { status: "completed", outcome: '"done"', at: this.world.now() } as const;
    await this.applied(create(id, { owner: "w" }), append(id, { state }));
  }

  async run(id: string): Promise<Run> {
    const run = await this.store.reader.get(id);
    if (run === null) throw new Error(`run ${id} not found`);
    return run;
  }

  inbox(id: string): Promise<readonly InboxEntry[]> {
    return this.store.reader.inbox(id);
  }

  async inboxIds(id: string): Promise<string[]> {
    return (await this.inbox(id)).map((entry) => entry.id);
  }

  async seqs(id: string): Promise<number[]> {
    const journal = await this.store.reader.journal(id, { afterSeq: 0, limit: 100_000 });
    return journal.map((record) => record.seq);
  }

  /** The seqs of the records that `load` returns. */
  async loadedSeqs(id: string, afterSeq: number): Promise<number[]> {
    return Array.from((await this.store.load(id, afterSeq))?.records ?? [], ({ seq }) => seq);
  }

  /** The ids of the due runs of a worker. */
  async due(worker: string, limit: number): Promise<string[]> {
    return (await this.store.dueRuns(worker, limit)).map(({ id }) => id);
  }

  claim(worker: string, limit = 10, workflows = ORDER): Promise<readonly Run[]> {
    return this.store.claim({ worker, limit, workflows });
  }

  async claimIds(worker: string, limit = 10, workflows = ORDER): Promise<string[]> {
    return (await this.claim(worker, limit, workflows)).map((run) => run.id);
  }

  /** The reasons of all dead letters. */
  async letterReasons(): Promise<string[]> {
    const { items } = await this.store.reader.deadLetters({ limit: 1000 });
    return items.map((letter) => letter.reason);
  }

  /** Everything that can be read of a run, for a comparison that shows that nothing changed. */
  async snapshot(id: string): Promise<unknown> {
    const loaded = await this.store.load(id, 0);
    return { loaded: loaded && wholeRun(loaded), letters: await this.store.reader.deadLetters({ limit: 1000 }) };
  }

  /** Sends a message that wakes no run, to add an inbox entry. */
  async sendUnawaited(to: string, id: string): Promise<void> {
    this.expect(await this.posted(message(to, id, { name: "unawaited" }))).toEqual({ kind: "queued" });
  }
}

export function manualWorld(): ManualWorld {
  return new ManualWorld(T0);
}
