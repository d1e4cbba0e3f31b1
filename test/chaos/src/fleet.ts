import { setTimeout as delay } from "node:timers/promises";
import type { ToParent } from "./child-messages.ts";
import type { Entry } from "./entry.ts";
import type { Ledger } from "./ledger.ts";
import { Member, type Role } from "./member.ts";
import type { WorkList } from "./work-list.ts";

export interface FleetParts {
  readonly folder: string;
  /** The address of the database. */
  readonly address: string;
  readonly workers: number;
  readonly leaseMs: number;
  readonly ledger: Ledger;
  readonly work: WorkList;
}

/** The number of scenarios that one process drives at a time. Workers are clients too, so that kills interrupt calls. */
const LANES: Readonly<Record<Role, number>> = { worker: 4, client: 10 };
const RESPAWN_MS = 100;
/** A process that has not exited this long after the request counts as stuck. */
const END_MS = 20_000;

/** The processes: a client that is never killed, and workers that are replaced when they have exited. */
export class Fleet {
  readonly #parts: FleetParts;
  readonly #members = new Set<Member>();
  #born = 0;
  #closing = false;

  constructor(parts: FleetParts) {
    this.#parts = parts;
  }

  open(): void {
    this.#spawn("client");
    for (let i = 0; i < this.#parts.workers; i += 1) this.#spawn("worker");
  }

  /** Workers that are running. */
  get up(): readonly Member[] {
    return [...this.#members].filter((member) => member.role === "worker" && member.state === "up");
  }

  append(member: Member, entry: Entry): Promise<void> {
    return this.#parts.ledger.append(member.name, entry);
  }

  /** Requests all processes to exit. A process that does not is killed, which its exit code shows. */
  async close(): Promise<void> {
    this.#closing = true;
    await Promise.all(
      [...this.#members].map(async (member) => {
        member.asked = true;
        member.signal("SIGTERM");
        await endOf(member);
      }),
    );
  }

  /** Kills all processes, for a parent that cannot continue. */
  kill(): void {
    this.#closing = true;
    for (const member of this.#members) member.signal("SIGKILL");
  }

  #spawn(role: Role): void {
    this.#born += 1;
    const name = `${role}-${this.#born}`;
    const { folder, address, leaseMs } = this.#parts;
    const member = new Member({
      role,
      name,
      folder,
      address,
      lanes: LANES[role],
      leaseMs,
      onMessage: (from, message) => this.#receive(from, message),
      onExit: (from, code) => this.#exited(from, code),
    });
    this.#members.add(member);
  }

  #receive(member: Member, message: ToParent): void {
    switch (message.kind) {
      case "ready":
        if (member.state === "starting") member.state = "up";
        return;
      case "entry": {
        const { entry, number } = message;
        const kept = this.append(member, entry);
        if (number !== null) void kept.then(() => member.tell({ kind: "kept", number }));
        member.reported(entry);
        return;
      }
      case "next":
        member.tell({ kind: "scenario", scenario: this.#parts.work.next(member.name) });
        return;
      case "driven":
        this.#parts.work.done(member.name, message.index);
        return;
    }
  }

  #exited(member: Member, code: number | null): void {
    this.#members.delete(member);
    void this.append(member, { kind: "exit", code, asked: member.asked });
    this.#parts.work.processExited(member.name);
    if (!this.#closing) void delay(RESPAWN_MS).then(() => (this.#closing ? undefined : this.#spawn(member.role)));
  }
}

/** Waits until a process that was requested to exit has exited. */
export async function endOf(member: Member): Promise<void> {
  const timer = setTimeout(() => {
    member.asked = false;
    member.signal("SIGKILL");
  }, END_MS);
  await member.ended;
  clearTimeout(timer);
}
