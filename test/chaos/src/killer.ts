import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "pawl";
import { endOf, type Fleet } from "./fleet.ts";
import type { Member } from "./member.ts";

export type Blow = "SIGKILL" | "SIGSTOP" | "SIGTERM";
export type Blows = Record<Blow, number>;

/** Of a hundred: the first two; the rest is SIGTERM. */
const KILL_PART = 70;
const STOP_PART = 20;
const GAP_MS = { least: 300, most: 1_100 };
/** How long a worker stays stopped, in leases: always longer than one. */
const STOP_LEASES = { least: 1.3, most: 2.5 };
/** Parts of the stopped ones: killed as they are; killed soon after they go on. */
const DIES_STOPPED = 0.15;
const DIES_SOON = 0.25;
/** How often a blow waits until another worker is up, and how long: else a busy machine, where they start slowly, has none at work. */
const WITH_ANOTHER = 0.75;
const ANOTHER_MS = 10_000;
/** How long to wait for the moment that a blow is meant for. */
const MOMENT_MS = 400;
/** About how long what follows such a moment takes. */
const COMMIT_MS = 10;

/** Strikes workers, own children all of them: at any moment, or right when one reports a body's begin or end, or a call. */
export class Killer {
  readonly blows: Blows = { SIGKILL: 0, SIGSTOP: 0, SIGTERM: 0 };
  readonly #fleet: Fleet;
  readonly #random: Random;
  /** Blows whose effect is not over: stopped workers, and workers that are ending. */
  readonly #open = new Set<Promise<void>>();
  readonly #leaseMs: number;
  #wanted = 0;

  constructor(fleet: Fleet, leaseMs: number, random: Random) {
    this.#fleet = fleet;
    this.#leaseMs = leaseMs;
    this.#random = random;
  }

  get count(): number {
    return this.blows.SIGKILL + this.blows.SIGSTOP + this.blows.SIGTERM;
  }

  /** Resolves when so many blows were struck and nothing of them is left to come. */
  async strike(count: number): Promise<void> {
    this.#wanted = count;
    while (this.#wantsMore) {
      await delay(this.#between(GAP_MS.least, GAP_MS.most));
      if (this.#random.next() < WITH_ANOTHER) await this.#another();
      const victim = await this.#victim();
      if (this.#random.next() < 0.6) await moment(victim);
      if (this.#random.next() < 0.5) await delay(this.#between(0, COMMIT_MS));
      if (victim.state !== "up" || !this.#wantsMore) continue;
      const blow = this.#blow();
      const over = this.#hit(victim, blow).finally(() => this.#open.delete(over));
      this.#open.add(over);
    }
    await Promise.all(this.#open);
  }

  get #wantsMore(): boolean {
    return this.count < this.#wanted;
  }

  async #another(): Promise<void> {
    const until = Date.now() + ANOTHER_MS;
    while (this.#fleet.up.length < 2 && Date.now() < until) await delay(20);
  }

  async #victim(): Promise<Member> {
    for (;;) {
      const { up } = this.#fleet;
      const victim = up[Math.floor(this.#random.next() * up.length)];
      if (victim !== undefined) return victim;
      await delay(20);
    }
  }

  #blow(): Blow {
    const part = this.#random.next() * 100;
    if (part < KILL_PART) return "SIGKILL";
    return part < KILL_PART + STOP_PART ? "SIGSTOP" : "SIGTERM";
  }

  async #hit(victim: Member, blow: Blow): Promise<void> {
    victim.state = blow === "SIGSTOP" ? "stopped" : "ending";
    this.#send(victim, blow);
    await (blow === "SIGSTOP" ? this.#stopped(victim) : endOf(victim));
  }

  /** Some never go on, and some only for a moment: then they act on what they believe to own, and are gone. */
  async #stopped(victim: Member): Promise<void> {
    await delay(this.#leaseMs * this.#between(STOP_LEASES.least, STOP_LEASES.most));
    const fate = this.#random.next();
    if (fate < DIES_STOPPED && this.#wantsMore) {
      await this.#hit(victim, "SIGKILL");
      return;
    }
    this.#send(victim, "SIGCONT");
    if (fate < DIES_STOPPED + DIES_SOON) {
      await delay(this.#between(0, this.#leaseMs / 2));
      if (this.#wantsMore) await this.#hit(victim, "SIGKILL");
    }
    if (victim.state === "stopped") victim.state = "up";
  }

  /** The line comes first by time, so that what follows from the signal never lies before it. */
  #send(victim: Member, signal: Blow | "SIGCONT"): void {
    if (signal !== "SIGCONT") this.blows[signal] += 1;
    if (signal === "SIGKILL" || signal === "SIGTERM") victim.asked = true;
    void this.#fleet.append(victim, { kind: "signal", signal, at: Date.now() });
    victim.signal(signal);
  }

  #between(least: number, most: number): number {
    return least + this.#random.next() * (most - least);
  }
}

/** Resolves when the victim reports something that is good to be struck at. */
async function moment(victim: Member): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(() => {
      cancel();
      resolve();
    }, MOMENT_MS);
    const cancel = victim.atNext(["begin", "end", "sent", "record"], () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
