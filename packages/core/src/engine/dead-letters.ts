import { PawlError } from "../model/errors.ts";
import type { DeadLetter } from "../model/inbox.ts";
import type { EmitOutcome, Op, OutcomeOf, SendOutcome } from "../model/op.ts";
import { type Codec, type Reading, readingOf } from "../model/payload.ts";
import type { EventPost, MessagePost } from "../model/transition.ts";
import type { Page, PageQuery, Reader } from "../store/store.ts";

/** A dead letter with its value decoded. If this codec cannot read the value, `unreadable` says so and `value` is undefined. */
export type DeadLetterView = Omit<DeadLetter, "value"> & Reading;

/** Lists, replays and removes messages and events that could not be received. */
export class DeadLetters {
  readonly #reader: Reader;
  readonly #codec: Codec;
  readonly #limits: {
    readonly eventRetentionMs: number;
    readonly pendingMax: number;
    readonly store: { now(): number };
  };
  readonly #submit: <O extends Op>(op: O) => Promise<OutcomeOf<O>>;

  constructor(
    reader: Reader,
    codec: Codec,
    limits: { readonly eventRetentionMs: number; readonly pendingMax: number; readonly store: { now(): number } },
    submit: <O extends Op>(op: O) => Promise<OutcomeOf<O>>,
  ) {
    this.#reader = reader;
    this.#codec = codec;
    this.#limits = limits;
    this.#submit = submit;
  }

  async list(query: Partial<PageQuery> = {}): Promise<Page<DeadLetterView>> {
    const page = await this.#reader.deadLetters({ limit: 100, ...query });
    return { items: page.items.map((letter) => this.#view(letter)), cursor: page.cursor };
  }

  async get(id: string): Promise<DeadLetterView | null> {
    const letter = await this.#reader.deadLetter(id);
    return letter === null ? null : this.#view(letter);
  }

  /** Sends the dead letter again, to its target or to the run `to`, and removes it in the same commit. */
  async replay(id: string, options: { readonly to?: string } = {}): Promise<SendOutcome | EmitOutcome> {
    const letter = await this.#reader.deadLetter(id);
    if (letter === null) throw missing(id);
    const outcome = await this.#submit({ kind: "letter", letterId: id, post: this.#post(letter, options.to) });
    if (outcome.kind !== "replayed") throw missing(id);
    return outcome.outcome;
  }

  /** False if no dead letter has this id. */
  async remove(id: string): Promise<boolean> {
    const outcome = await this.#submit({ kind: "letter", letterId: id, post: null });
    return outcome.kind === "removed";
  }

  #post(letter: DeadLetter, to: string | undefined): MessagePost | EventPost {
    const at = this.#limits.store.now();
    const { name, value } = letter;
    // A new id, because the target may have received the old one and would discard a duplicate.
    const id = `${letter.id}@${at}`;
    if (letter.kind === "message" || to !== undefined) {
      return {
        kind: "message",
        to: to ?? letter.target,
        id,
        name,
        value,
        at,
        onTargetTerminated: "deadLetter",
        from: null,
      };
    }
    const { eventRetentionMs, pendingMax } = this.#limits;
    return {
      kind: "event",
      topic: letter.target,
      id,
      value,
      at,
      expireAt: at + eventRetentionMs,
      deliver: "all",
      consume: "one",
      pendingMax,
    };
  }

  #view(letter: DeadLetter): DeadLetterView {
    return { ...letter, ...readingOf<unknown>(this.#codec, letter.value, `dead letter ${letter.id}`) };
  }
}

function missing(id: string): PawlError {
  return new PawlError("LETTER_NOT_FOUND", `dead letter ${id} not found; it may have been replayed or removed`);
}
