/** Sets by name: made when their first member comes, gone with their last. */
export class SetsByName<Member> {
  readonly #sets = new Map<string, Set<Member>>();

  of(name: string): Iterable<Member> {
    return this.#sets.get(name) ?? [];
  }

  has(name: string): boolean {
    return this.#sets.has(name);
  }

  add(name: string, member: Member): void {
    const set = this.#sets.get(name);
    if (set === undefined) this.#sets.set(name, new Set([member]));
    else set.add(member);
  }

  remove(name: string, member: Member): void {
    const set = this.#sets.get(name);
    if (set?.delete(member) && set.size === 0) this.#sets.delete(name);
  }
}
