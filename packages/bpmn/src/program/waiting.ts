import type { Arm, Completion, ProgramHost, RecordKind, StoredDocument } from "pawl";
import type { Command } from "../machine/state.ts";
import { messageTopic, signalTopic, taskMessage } from "./topics.ts";

type Waited = Extract<Command, { kind: "timer" | "due" | "message" | "signal" | "task" }>;

/** What an element waits for is a wait of the run. */
export function issueWait(
  host: ProgramHost,
  command: Waited,
  settle: (completion: Completion) => void,
  documents?: readonly StoredDocument[],
): void {
  const { arms, record } = waitOf(command);
  host.issue({
    kind: "wait",
    record,
    location: command.place,
    issuedAt: host.now(),
    arms,
    count: 1,
    many: false,
    until: command.kind === "timer" || command.kind === "due" ? command.dueAt : null,
    atDeadline: { outcome: "ok", detail: null },
    settle,
    ...(documents !== undefined && { documents }),
  });
}

function waitOf(command: Waited): { readonly arms: readonly Arm[]; readonly record: RecordKind } {
  if (command.kind === "timer" || command.kind === "due") return { arms: [], record: "sleep" };
  if (command.kind === "task") {
    return { arms: [{ kind: "message", name: taskMessage(command.place), as: "task" }], record: "listen" };
  }
  const topic = command.kind === "message" ? messageTopic(command.name, command.key) : signalTopic(command.name);
  return { arms: [{ kind: "event", topic, as: command.kind }], record: "event" };
}
