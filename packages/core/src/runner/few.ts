/** A set in the order of its members that mostly has none or one, and then makes nothing for them. */
export class Few<Member> {
  #only: Member | null = null;
  /** All of them, while there were several since there was none. */
  #several: Set<Member> | null = null;

  get isEmpty(): boolean {
    return this.#only === null && this.#several === null;
  }

  get first(): Member | null {
    if (this.#several === null) return this.#only;
    for (const member of this.#several) return member;
    return null;
  }

  has(member: Member): boolean {
    return this.#several?.has(member) ?? this.#only === member;
  }

  /** As they are at this moment. */
  values(): readonly Member[] {
    if (this.#several !== null) return [...this.#several];
    return this.#only === null ? [] : [this.#only];
  }

  add(member: Member): void {
    if (this.#several !== null) {
      this.#several.add(member);
    } else if (this.#only === null || this.#only === member) {
      this.#only = member;
    } else {
      this.#several = new Set([this.#only, member]);
      this.#only = null;
    }
  }

  /** Whether it was there. */
  delete(member: Member): boolean {
    if (!this.has(member)) return false;
    this.#only = null;
    this.#several?.delete(member);
    if (this.#several?.size === 0) this.#several = null;
    return true;
  }

  clear(): void {
    this.#only = null;
    this.#several = null;
  }
}
