/** One wake-up at a time: setting another takes the place of the one before. */
export class Appointment {
  readonly #wakeAt: (at: number) => () => void;
  #at: number | null = null;
  #cancel: (() => void) | null = null;

  /** `wakeAt` arranges the wake-up; what it returns cancels it. */
  constructor(wakeAt: (at: number) => () => void) {
    this.#wakeAt = wakeAt;
  }

  set(at: number | null): void {
    if (at === this.#at) return;
    this.#cancel?.();
    this.#at = at;
    this.#cancel = at === null ? null : this.#wakeAt(at);
  }
}
