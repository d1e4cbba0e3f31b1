import { type ChildProcess, fork } from "node:child_process";
import { openSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ToChild, ToParent } from "./child-messages.ts";
import type { Entry } from "./entry.ts";

export type Role = "worker" | "client";

export interface MemberParts {
  readonly role: Role;
  readonly name: string;
  readonly folder: string;
  readonly address: string;
  /** The number of scenarios that it drives at a time. */
  readonly lanes: number;
  readonly leaseMs: number;
  readonly onMessage: (member: Member, message: ToParent) => void;
  readonly onExit: (member: Member, code: number | null) => void;
}

const PROGRAM = fileURLToPath(new URL("./child/process.js", import.meta.url));

/** One child process. Signals go to this process only, by its handle. */
export class Member {
  readonly name: string;
  readonly role: Role;
  /** True if it was killed or requested to exit. */
  asked = false;
  state: "starting" | "up" | "stopped" | "ending" | "gone" = "starting";
  readonly ended: Promise<number | null>;
  readonly #child: ChildProcess;
  #onEntry: ((entry: Entry) => void) | null = null;

  constructor(parts: MemberParts) {
    const { role, name, folder, address, lanes, leaseMs } = parts;
    this.name = name;
    this.role = role;
    const output = openSync(join(folder, `${name}.out`), "a");
    this.#child = fork(PROGRAM, [role, name, folder, address, String(lanes), String(leaseMs)], {
      stdio: ["ignore", output, output, "ipc"],
      execArgv: ["--unhandled-rejections=strict", "--enable-source-maps"],
    });
    this.#child.on("message", (message) => parts.onMessage(this, message as ToParent));
    // Sending to a killed child fails; its exit is reported.
    this.#child.on("error", () => undefined);
    this.ended = new Promise((resolve) => {
      this.#child.on("exit", (code) => {
        this.state = "gone";
        parts.onExit(this, code);
        resolve(code);
      });
    });
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  signal(signal: NodeJS.Signals): void {
    if (this.state !== "gone") this.#child.kill(signal);
  }

  tell(message: ToChild): void {
    if (this.state !== "gone" && this.#child.connected) this.#child.send(message);
  }

  /** The member has reported an entry. */
  reported(entry: Entry): void {
    this.#onEntry?.(entry);
  }

  /** Calls back at the member's next entry of these kinds. The returned function cancels. */
  atNext(kinds: readonly Entry["kind"][], callback: () => void): () => void {
    this.#onEntry = (entry) => {
      if (!kinds.includes(entry.kind)) return;
      this.#onEntry = null;
      callback();
    };
    return () => {
      this.#onEntry = null;
    };
  }
}
