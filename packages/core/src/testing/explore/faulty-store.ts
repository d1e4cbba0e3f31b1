import type { Hint, Store } from "../../store/store.ts";
import { StoreError } from "../../store/store-error.ts";
import { type Intercept, intercepted, type StoreCall } from "../intercepted.ts";
import type { CallFault, Fault, LastingFault } from "./schedule.ts";

/** A process, as its way to the store sees it. */
export interface Caller {
  readonly isDead: boolean;
  /** A call begins; what is given is what goes wrong with it. */
  called(call: StoreCall): ReadonlyArray<CallFault>;
  /** It was applied. */
  applied(call: StoreCall): void;
  /** The process ends. */
  crash(how: string): void;
  shutDown(): void;
  setClock(ms: number): void;
  /** Resolves when the call may go on: after a while, or when others have taken the process's runs. */
  late(): Promise<void>;
  takenForDead(): Promise<void>;
  /** How many more calls fail. */
  outage: number;
  /** As the store knows it; null: it does not. */
  workerId: string | null;
}

const OUTAGE_CALLS = 3;

/** The way of one process to the store. */
export function faultyStore(store: Store, caller: Caller, faults: readonly Fault[]): Store {
  const hints = faults.find((fault) => fault.kind === "hints")?.how ?? null;
  const exactClock = !faults.some(({ kind }) => kind === "skew" || kind === "clockJump");
  const intercept: Intercept = (call, proceed) => {
    if (caller.isDead) return never();
    // The store is there before the processes and after them.
    if (call.method === "open" || call.method === "close") return Promise.resolve(undefined as never);
    const struck = caller.called(call);
    return struck.length === 0 && caller.outage === 0
      ? plain(call, proceed, caller)
      : passed(call, proceed, caller, struck);
  };
  const through = intercepted(store, intercept);
  return {
    ...through,
    exactClock,
    heartbeat: (worker, ...rest) => {
      caller.workerId = worker;
      return through.heartbeat(worker, ...rest);
    },
    watch: (listener) => store.watch((hint) => hinted(hint, caller, hints, listener)),
  };
}

/** Most calls: nothing goes wrong with them. */
async function plain<Value>(call: StoreCall, proceed: () => Promise<Value>, caller: Caller): Promise<Value> {
  const answer = await proceed();
  caller.applied(call);
  return caller.isDead ? await never() : answer;
}

async function passed<Value>(
  call: StoreCall,
  proceed: () => Promise<Value>,
  caller: Caller,
  faults: ReturnType<Caller["called"]>,
): Promise<Value> {
  for (const fault of faults) await before(fault, caller);
  if (caller.outage > 0) {
    caller.outage -= 1;
    throw new StoreError("STORE_UNAVAILABLE", "notApplied", "made to fail: the store can't be reached");
  }
  const lost = faults.find((fault) => (fault.kind === "crash" || fault.kind === "error") && !fault.applied);
  if (lost?.kind === "error") throw new StoreError("STORE_BUSY", "notApplied", "made to fail");
  if (lost !== undefined) {
    caller.crash(describedCall(call, "before"));
    return await never();
  }
  const answer = await proceed();
  caller.applied(call);
  if (caller.isDead) return await never();
  const unheard = faults.find((fault) => fault.kind === "crash" || fault.kind === "error");
  if (unheard?.kind === "error")
    throw new StoreError("STORE_UNAVAILABLE", "unknown", "made to break before the answer");
  if (unheard !== undefined) {
    caller.crash(describedCall(call, "after"));
    return await never();
  }
  return answer;
}

async function before(fault: CallFault, caller: Caller): Promise<void> {
  switch (fault.kind) {
    case "delay":
      return await caller.late();
    case "pause":
      return await caller.takenForDead();
    case "outage":
      caller.outage = OUTAGE_CALLS;
      return;
    case "shutdown":
      caller.shutDown();
      return;
    case "clockJump":
      caller.setClock(fault.ms);
      return;
    case "crash":
    case "error":
      return;
  }
}

function hinted(
  hint: Hint,
  caller: Caller,
  how: Extract<LastingFault, { kind: "hints" }>["how"] | null,
  listener: (hint: Hint) => void,
): void {
  if (caller.isDead || how === "lost") return;
  if (how === "late") {
    void caller.late().then(() => (caller.isDead ? undefined : listener(hint)));
    return;
  }
  listener(hint);
  if (how === "twice") listener(hint);
}

/** What a call was about, for people: the records that it writes. */
function describedCall({ method, batch }: StoreCall, when: "before" | "after"): string {
  const records = batch.flatMap((transition) =>
    transition.kind === "append" ? transition.records.map(({ kind, location }) => `${kind} ${location}`) : [],
  );
  const isEnd = batch.some((transition) => transition.kind === "append" && isEnding(transition.state?.status));
  const what = [...records, ...(isEnd ? ["the end of the run"] : [])];
  if (what.length === 0) return `${when} its call to ${method === "commit" ? "write" : method}`;
  return when === "before" ? `before it has stored ${what.join(", ")}` : `when it has stored ${what.join(", ")}`;
}

function isEnding(status: string | undefined): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
