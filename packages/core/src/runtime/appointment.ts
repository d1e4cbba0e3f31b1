interface Alarm {
  /** Calls back when the time has come; the returned function cancels. */
  wakeAt(at: number, callback: () => void): () => void;
}

/** One wake-up at a time: setting another takes the place of the one before. */
export class Appointment {
  readonly #alarm: Alarm;
  readonly #sleeper: { wake(): void };
  #at: number | null = null;
  #cancel: (() => void) | null = null;

  constructor(alarm: Alarm, sleeper: { wake(): void }) {
    this.#alarm = alarm;
    this.#sleeper = sleeper;
  }

  set(at: number | null): void {
    if (at === this.#at) return;
    this.#cancel?.();
    this.#at = at;
    this.#cancel = at === null ? null : this.#alarm.wakeAt(at, () => this.#sleeper.wake());
  }
}
