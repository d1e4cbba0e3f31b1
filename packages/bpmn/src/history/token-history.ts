import type { TokenId } from "../machine/observer.ts";
import type { Row } from "../machine/state.ts";

/** A place that a token was at: an element that it reached, or a join where it waited. */
export interface TokenVisit {
  readonly element: string;
  /** The activation of the element. Null if the token waited for others there. */
  readonly row: number | null;
  readonly at: number;
  /** Null while the token is there. */
  readonly leftAt: number | null;
  readonly status: "active" | "waiting" | "completed" | "terminated";
}

/**
 * - `active`: its element works, or contains other tokens.
 * - `waiting`: for a time, a message, a person, an operator, or for other tokens at a join.
 * - `split`: others continue in its place.
 */
export type TokenStatus = "active" | "waiting" | "completed" | "terminated" | "split";

type Visit = { -readonly [Key in keyof TokenVisit]: TokenVisit[Key] };

export interface TrackedToken {
  readonly id: TokenId;
  /** The token that it was split off, or that waits around it. Null if there is none. */
  readonly parent: TokenId | null;
  /** The tokens that a join made it of. Empty if no join did. */
  readonly mergedFrom: readonly TokenId[];
  readonly createdAt: number;
  endedAt: number | null;
  end: "completed" | "terminated" | "split" | null;
  readonly visits: Visit[];
}

/** A token that waits at a join. */
export interface Arrival {
  /** The row of the scope. */
  readonly scope: number;
  readonly element: string;
  /** The flow by which it arrived. Empty at an activity that needs several tokens. */
  readonly flow: string;
  readonly token: TokenId;
  readonly at: number;
}

/**
 * Follows the tokens of an instance. The machine has rows, not tokens: a token keeps its identity from row to row until it is split,
 * merged or ended.
 */
export class TokenHistory {
  readonly all = new Map<TokenId, TrackedToken>();
  /** The time of the current event. */
  at = 0;
  readonly #byRow = new Map<number, TokenId>();
  /** Tokens at joins, by scope and element, oldest first. */
  readonly #held = new Map<number, Map<string, Arrival[]>>();
  /** Tokens that have left a row and not reached the next one. */
  readonly #moving = new Set<TokenId>();

  /** The tokens that wait at joins. */
  get arrivals(): readonly Arrival[] {
    return [...this.#held.values()].flatMap((elements) => [...elements.values()].flat());
  }

  tokenOf(row: number): TokenId | null {
    return this.#byRow.get(row) ?? null;
  }

  spawned(parent: TokenId | null): TokenId {
    return this.#create(parent, []).id;
  }

  moved(from: Row, end: "completed" | "terminated"): TokenId {
    const id = this.#detach(from, end);
    return id === null ? this.spawned(null) : id;
  }

  took(from: Row, count: number, stays: boolean): readonly TokenId[] {
    const own = this.tokenOf(from.id);
    if (!stays && count === 1) return [this.moved(from, "completed")];
    if (!stays) {
      this.#detach(from, "completed");
      if (own !== null) this.#end(own, count === 0 ? "completed" : "split");
    }
    return Array.from({ length: count }, () => this.spawned(own));
  }

  held(scope: Row, element: string, flow: string, token: TokenId): void {
    this.#moving.delete(token);
    this.all.get(token)?.visits.push({ element, row: null, at: this.at, leftAt: null, status: "waiting" });
    const elements = this.#held.get(scope.id) ?? new Map<string, Arrival[]>();
    this.#held.set(scope.id, elements);
    const arrivals = elements.get(element) ?? [];
    elements.set(element, arrivals);
    arrivals.push({ scope: scope.id, element, flow, token, at: this.at });
  }

  /** The first token of each flow. A token that is alone stays what it is. */
  merged(scope: Row, element: string, flows: readonly string[]): TokenId {
    const held = this.#held.get(scope.id)?.get(element) ?? [];
    const taken = flows.flatMap((flow) => {
      const index = held.findIndex((each) => each.flow === flow);
      return index < 0 ? [] : held.splice(index, 1).map(({ token }) => token);
    });
    for (const token of taken) this.#leave(token, "completed");
    const [first] = taken;
    if (first === undefined) return this.spawned(null);
    if (taken.length === 1) {
      this.#moving.add(first);
      return first;
    }
    for (const token of taken) this.#end(token, "completed");
    return this.#create(this.#commonParent(taken), taken).id;
  }

  consumed(token: TokenId): void {
    this.#moving.delete(token);
    this.#end(token, "completed");
  }

  entered(row: Row, token: TokenId): void {
    this.#moving.delete(token);
    this.#byRow.set(row.id, token);
    const { id, element } = row;
    this.all.get(token)?.visits.push({ element, row: id, at: this.at, leftAt: null, status: "active" });
  }

  removed(row: Row, isCompleted: boolean): void {
    const token = this.#byRow.get(row.id);
    if (token === undefined) return;
    this.#byRow.delete(row.id);
    this.#end(token, isCompleted ? "completed" : "terminated");
  }

  cleared(scope: number): void {
    const gone = this.#held.get(scope);
    if (gone === undefined) return;
    this.#held.delete(scope);
    for (const { token } of [...gone.values()].flat()) this.#end(token, "terminated");
  }

  /** Ends the tokens that an event has left between two elements: what they were on their way to is gone. */
  settle(): void {
    for (const token of this.#moving) this.#end(token, "terminated");
    this.#moving.clear();
  }

  #create(parent: TokenId | null, mergedFrom: readonly TokenId[]): TrackedToken {
    const id = this.all.size + 1;
    const token: TrackedToken = { id, parent, mergedFrom, createdAt: this.at, endedAt: null, end: null, visits: [] };
    this.all.set(id, token);
    this.#moving.add(id);
    return token;
  }

  /** The token of a row goes on without it. */
  #detach(from: Row, end: "completed" | "terminated"): TokenId | null {
    const id = this.tokenOf(from.id);
    if (id === null) return null;
    this.#byRow.delete(from.id);
    this.#leave(id, end);
    this.#moving.add(id);
    return id;
  }

  #leave(id: TokenId, status: "completed" | "terminated"): void {
    const visit = this.all.get(id)?.visits.at(-1);
    if (visit === undefined || visit.leftAt !== null) return;
    visit.leftAt = this.at;
    visit.status = status;
  }

  #end(id: TokenId, end: "completed" | "terminated" | "split"): void {
    const token = this.all.get(id);
    if (token === undefined || token.end !== null) return;
    this.#moving.delete(id);
    this.#leave(id, end === "terminated" ? "terminated" : "completed");
    token.end = end;
    token.endedAt = this.at;
  }

  /** The token that all of these were split off has its place again. Otherwise that of the first. */
  #commonParent(tokens: readonly TokenId[]): TokenId | null {
    const parents = new Set(tokens.map((token) => this.all.get(token)?.parent ?? null));
    const [parent = null] = parents;
    return parents.size === 1 && parent !== null ? (this.all.get(parent)?.parent ?? null) : parent;
  }
}
