import { setTimeout as delay } from "node:timers/promises";
import type { Random } from "pawl";
import { endOf, type Fleet } from "./fleet.ts";
import type { Member } from "./member.ts";

export type KillSignal = "SIGKILL" | "SIGSTOP" | "SIGTERM";
export type SignalCounts = Record<KillSignal, number>;

/** Percentages of SIGKILL and SIGSTOP. The rest is SIGTERM. */
const KILL_PART = 70;
const STOP_PART = 20;
const GAP_MS = { least: 300, most: 1_100 };
/** How long a worker stays stopped, in leases. Always longer than one. */
const STOP_LEASES = { least: 1.3, most: 2.5 };
/** Probabilities for stopped workers: killed while stopped; killed soon after they continue. */
const DIES_STOPPED = 0.15;
const DIES_SOON = 0.25;
/** How often a signal waits until another worker is up, and how long. On a busy host, where workers start slowly, none might be running otherwise. */
const WITH_ANOTHER = 0.75;
const ANOTHER_MS = 10_000;
/** How long to wait for a report of the victim. */
const MOMENT_MS = 400;
/** The approximate duration of the commit after such a report. */
const COMMIT_MS = 10;

/** Sends signals to workers, which are child processes: at any moment, or when a worker reports a body's start or end, a call or a record. */
export class Killer {
  readonly signals: SignalCounts = { SIGKILL: 0, SIGSTOP: 0, SIGTERM: 0 };
  readonly #fleet: Fleet;
  readonly #random: Random;
  /** Signals in progress: workers that are stopped or ending. */
  readonly #open = new Set<Promise<void>>();
  readonly #leaseMs: number;
  #wanted = 0;

  constructor(fleet: Fleet, leaseMs: number, random: Random) {
    this.#fleet = fleet;
    this.#leaseMs = leaseMs;
    this.#random = random;
  }

  get count(): number {
    return this.signals.SIGKILL + this.signals.SIGSTOP + this.signals.SIGTERM;
  }

  /** Sends `count` signals. Resolves when their workers have ended or continue. */
  async sendSignals(count: number): Promise<void> {
    this.#wanted = count;
    while (this.#wantsMore) {
      await delay(this.#between(GAP_MS.least, GAP_MS.most));
      if (this.#random.next() < WITH_ANOTHER) await this.#another();
      const victim = await this.#victim();
      if (this.#random.next() < 0.6) await nextReport(victim);
      if (this.#random.next() < 0.5) await delay(this.#between(0, COMMIT_MS));
      if (victim.state !== "up" || !this.#wantsMore) continue;
      const signal = this.#chooseSignal();
      const over = this.#kill(victim, signal).finally(() => this.#open.delete(over));
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

  #chooseSignal(): KillSignal {
    const part = this.#random.next() * 100;
    if (part < KILL_PART) return "SIGKILL";
    return part < KILL_PART + STOP_PART ? "SIGSTOP" : "SIGTERM";
  }

  async #kill(victim: Member, signal: KillSignal): Promise<void> {
    victim.state = signal === "SIGSTOP" ? "stopped" : "ending";
    this.#send(victim, signal);
    await (signal === "SIGSTOP" ? this.#stopped(victim) : endOf(victim));
  }

  /** Some stopped workers are killed. Others continue for a moment, act on runs that they have lost, and are killed then. */
  async #stopped(victim: Member): Promise<void> {
    await delay(this.#leaseMs * this.#between(STOP_LEASES.least, STOP_LEASES.most));
    const fate = this.#random.next();
    if (fate < DIES_STOPPED && this.#wantsMore) {
      await this.#kill(victim, "SIGKILL");
      return;
    }
    this.#send(victim, "SIGCONT");
    if (fate < DIES_STOPPED + DIES_SOON) {
      await delay(this.#between(0, this.#leaseMs / 2));
      if (this.#wantsMore) await this.#kill(victim, "SIGKILL");
    }
    if (victim.state === "stopped") victim.state = "up";
  }

  /** The ledger entry is written before the signal, so that its effects come after it. */
  #send(victim: Member, signal: KillSignal | "SIGCONT"): void {
    if (signal !== "SIGCONT") this.signals[signal] += 1;
    if (signal === "SIGKILL" || signal === "SIGTERM") victim.asked = true;
    void this.#fleet.append(victim, { kind: "signal", signal, at: Date.now() });
    victim.signal(signal);
  }

  #between(least: number, most: number): number {
    return least + this.#random.next() * (most - least);
  }
}

/** Resolves when the victim reports the start or end of a body, a call or a record. */
async function nextReport(victim: Member): Promise<void> {
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
