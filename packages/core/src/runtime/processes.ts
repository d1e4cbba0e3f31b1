import { builtinModule, nodeProcess } from "./platform.ts";

/** A process, so that another process of the same host can tell whether it still exists. */
export interface ProcessIdentity {
  /** Names the host, its boot and the namespace of process ids. Equal only if `pid` means the same in both processes. */
  readonly host: string;
  readonly pid: number;
  /** When the process started, in the units of the host. A process id is used again. Empty if the host does not tell. */
  readonly startedAt: string;
}

/** The processes of this host. */
export interface Processes {
  readonly self: ProcessIdentity;
  /** Whether the process has ended. False if that is not certain, and for a process of another host. */
  hasEnded(other: ProcessIdentity): boolean;
}

type FileSystem = Pick<typeof import("node:fs"), "readFileSync" | "readlinkSync">;
type System = Pick<typeof import("node:os"), "hostname" | "networkInterfaces">;

/** Returns null if the platform does not tell which process this is. */
export function systemProcesses(): Processes | null {
  const files = builtinModule<FileSystem>("node:fs");
  const system = builtinModule<System>("node:os");
  if (files === null || system === null || nodeProcess === undefined) return null;
  const host = hostOf(files, system);
  if (host === null) return null;
  const { pid } = nodeProcess;
  const self = { host, pid, startedAt: statOf(files, pid)?.startedAt ?? "" };
  return { self, hasEnded: (other) => other.host === host && hasEnded(files, other) };
}

/**
 * The host name alone is not enough: containers may share it, and two computers too. On Linux the boot and the namespace of process ids
 * have ids. Elsewhere the hardware addresses distinguish hosts.
 */
function hostOf(files: FileSystem, system: System): string | null {
  const name = system.hostname();
  const boot = readOrNull(() => files.readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim());
  const namespace = readOrNull(() => files.readlinkSync("/proc/self/ns/pid"));
  if (boot !== null && namespace !== null) return [name, boot, namespace].join(" ");
  const interfaces = Object.values(system.networkInterfaces()).flatMap((each) => each ?? []);
  const addresses = new Set(interfaces.filter(({ internal }) => !internal).map(({ mac }) => mac));
  return addresses.size === 0 ? null : [name, ...[...addresses].sort()].join(" ").slice(0, HOST_CHARACTERS_MAX);
}

/** The host is stored as an attribute of a document, whose size is bounded. */
const HOST_CHARACTERS_MAX = 400;

/** A signal reaches processes of other users, which `/proc` may hide. */
function hasEnded(files: FileSystem, { pid, startedAt }: ProcessIdentity): boolean {
  try {
    nodeProcess?.kill(pid, 0);
  } catch (error) {
    return (error as { readonly code?: unknown }).code === "ESRCH";
  }
  const stat = statOf(files, pid);
  return stat !== null && startedAt !== "" && (stat.startedAt !== startedAt || ENDED_STATES.has(stat.state));
}

/** A process whose parent has not read its end. */
const ENDED_STATES: ReadonlySet<string> = new Set(["Z", "X", "x"]);

/** Fields after the name of the process, which may contain anything. */
const STATE_FIELD = 0;
const STARTED_FIELD = 19;

function statOf(files: FileSystem, pid: number): { readonly state: string; readonly startedAt: string } | null {
  const text = readOrNull(() => files.readFileSync(`/proc/${pid}/stat`, "utf8"));
  if (text === null) return null;
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  const [state, startedAt] = [fields[STATE_FIELD], fields[STARTED_FIELD]];
  return state === undefined || startedAt === undefined ? null : { state, startedAt };
}

function readOrNull(read: () => string): string | null {
  try {
    return read();
  } catch {
    // Another platform, or a process that has ended.
    return null;
  }
}
