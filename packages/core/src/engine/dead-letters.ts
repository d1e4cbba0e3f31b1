import { PawlError } from "../model/errors.ts";
import type { DeadLetter } from "../model/inbox.ts";
import type { EmitOutcome, SendOutcome } from "../model/op.ts";
import { kinds, optionTable, PAGE_KINDS, readArgument, readOptions } from "../model/option-check.ts";
import { type Reading, readingOf } from "../model/payload.ts";
import type { EventPost, MessagePost } from "../model/transition.ts";
import type { ControlParts } from "../operator/controls.ts";
import type { Page, PageQuery } from "../store/store.ts";
import { LETTER_ID } from "./op-check.ts";

/** A dead letter with its value decoded. If this codec cannot read the value, `unreadable` says so and `value` is undefined. */
export type DeadLetterView = Omit<DeadLetter, "value"> & Reading;

interface ReplayOptions {
  readonly to?: string;
}

const LIST_QUERY = optionTable<Partial<PageQuery>>("deadLetters.list", PAGE_KINDS);
const REPLAY_OPTIONS = optionTable<ReplayOptions>("deadLetters.replay", { to: kinds.runId });

/** Lists, replays and removes messages and events that could not be received. */
export class DeadLetters {
  readonly #parts: ControlParts;

  constructor(parts: ControlParts) {
    this.#parts = parts;
  }

  async list(query?: Partial<PageQuery>): Promise<Page<DeadLetterView>> {
    const { config, worker } = this.#parts;
    const given = readOptions(LIST_QUERY, query);
    const page = await worker.withRetry(() => config.store.reader.deadLetters({ limit: 100, ...given }));
    return { items: page.items.map((letter) => this.#view(letter)), cursor: page.cursor };
  }

  async get(id: string): Promise<DeadLetterView | null> {
    const letter = await this.#read(id);
    return letter === null ? null : this.#view(letter);
  }

  /** Sends the dead letter again, to its target or to the run `to`, and removes it in the same commit. */
  async replay(id: string, options?: ReplayOptions): Promise<SendOutcome | EmitOutcome> {
    const { to } = readOptions(REPLAY_OPTIONS, options);
    const letter = await this.#read(id);
    if (letter === null) throw missing(id);
    const outcome = await this.#parts.submit({ kind: "letter", letterId: letter.id, post: this.#post(letter, to) });
    if (outcome.kind !== "replayed") throw missing(id);
    return outcome.outcome;
  }

  /** False if no dead letter has this id. */
  async remove(id: string): Promise<boolean> {
    const letterId = readArgument(LETTER_ID, id, "id of the dead letter");
    const outcome = await this.#parts.submit({ kind: "letter", letterId, post: null });
    return outcome.kind === "removed";
  }

  async #read(id: string): Promise<DeadLetter | null> {
    const { config, worker } = this.#parts;
    const letterId = readArgument(LETTER_ID, id, "id of the dead letter");
    return await worker.withRetry(() => config.store.reader.deadLetter(letterId));
  }

  #post(letter: DeadLetter, to: string | undefined): MessagePost | EventPost {
    const { store, world, eventRetentionMs, pendingMax } = this.#parts.config;
    const at = store.now();
    const { name, value } = letter;
    // A new id, because the target may have received the old one and would discard a duplicate.
    const id = world.random.id(at);
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
    return { ...letter, ...readingOf<unknown>(this.#parts.codec, letter.value, `dead letter ${letter.id}`) };
  }
}

function missing(id: string): PawlError {
  return new PawlError("LETTER_NOT_FOUND", `dead letter ${id} not found; it may have been replayed or removed`);
}
