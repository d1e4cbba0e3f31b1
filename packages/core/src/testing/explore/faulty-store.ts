import type { Hint, Store } from "../../store/store.ts";
import { StoreError } from "../../store/store-error.ts";
import { type Intercept, intercepted, type StoreCall } from "../intercepted.ts";
import type { CallFault, Fault, LastingFault } from "./schedule.ts";

/** The process that calls the store, as the faults affect it. */
export interface Caller {
  readonly isDead: boolean;
  /** Records a call and returns its faults. */
  called(call: StoreCall): ReadonlyArray<CallFault>;
  /** Records that a call was applied. */
  applied(call: StoreCall): void;
  /** Ends the process. `when` completes the sentence "process 1 crashes …". */
  crash(when: string): void;
  shutDown(): void;
  setClock(ms: number): void;
  /** Resolves after the duration of a slow call. */
  delay(): Promise<void>;
  /** Resolves when another process has taken over the runs of this process. */
  untilTakenOver(): Promise<void>;
  /** The number of further calls that fail. */
  outage: number;
  /** The worker id of the process. Null before its first heartbeat. */
  workerId: string | null;
}

const OUTAGE_CALLS = 3;

/** The store as one process calls it, with the faults of a schedule. */
export function faultyStore(store: Store, caller: Caller, faults: readonly Fault[]): Store {
  const hints = faults.find((fault) => fault.kind === "hints")?.how ?? null;
  const exactClock = !faults.some(({ kind }) => kind === "skew" || kind === "clockJump");
  const intercept: Intercept = (call, proceed) => {
    if (caller.isDead) return never();
    // The store is opened before the first process starts and closed after the last one ends.
    if (call.method === "open" || call.method === "close") return Promise.resolve(undefined as never);
    const callFaults = caller.called(call);
    return callFaults.length === 0 && caller.outage === 0
      ? withoutFaults(call, proceed, caller)
      : withFaults(call, proceed, caller, callFaults);
  };
  const faulty = intercepted(store, intercept);
  return {
    ...faulty,
    exactClock,
    heartbeat: (worker, ...rest) => {
      caller.workerId = worker;
      return faulty.heartbeat(worker, ...rest);
    },
    watch: (listener) => store.watch((hint) => deliverHint(hint, caller, hints, listener)),
  };
}

async function withoutFaults<Value>(call: StoreCall, proceed: () => Promise<Value>, caller: Caller): Promise<Value> {
  const answer = await proceed();
  caller.applied(call);
  return caller.isDead ? await never() : answer;
}

async function withFaults<Value>(
  call: StoreCall,
  proceed: () => Promise<Value>,
  caller: Caller,
  faults: ReturnType<Caller["called"]>,
): Promise<Value> {
  for (const fault of faults) await before(fault, caller);
  if (caller.outage > 0) {
    caller.outage -= 1;
    throw new StoreError("STORE_UNAVAILABLE", "notApplied", "injected outage");
  }
  const notApplied = faults.find((fault) => (fault.kind === "crash" || fault.kind === "error") && !fault.applied);
  if (notApplied?.kind === "error")
    throw new StoreError("STORE_BUSY", "notApplied", "injected failure before the call");
  if (notApplied !== undefined) {
    caller.crash(describedCall(call, "before"));
    return await never();
  }
  const answer = await proceed();
  caller.applied(call);
  if (caller.isDead) return await never();
  const replyLost = faults.find((fault) => fault.kind === "crash" || fault.kind === "error");
  if (replyLost?.kind === "error") throw new StoreError("STORE_UNAVAILABLE", "unknown", "injected loss of the reply");
  if (replyLost !== undefined) {
    caller.crash(describedCall(call, "after"));
    return await never();
  }
  return answer;
}

async function before(fault: CallFault, caller: Caller): Promise<void> {
  switch (fault.kind) {
    case "delay":
      return await caller.delay();
    case "pause":
      return await caller.untilTakenOver();
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

function deliverHint(
  hint: Hint,
  caller: Caller,
  how: Extract<LastingFault, { kind: "hints" }>["how"] | null,
  listener: (hint: Hint) => void,
): void {
  if (caller.isDead || how === "lost") return;
  if (how === "late") {
    void caller.delay().then(() => (caller.isDead ? undefined : listener(hint)));
    return;
  }
  listener(hint);
  if (how === "twice") listener(hint);
}

/** A call as it is called in a story: by the records that it writes. */
function describedCall({ method, batch }: StoreCall, when: "before" | "after"): string {
  const records = batch.flatMap((transition) =>
    transition.kind === "append" ? transition.records.map(({ kind, location }) => `${kind} ${location}`) : [],
  );
  const isEnd = batch.some((transition) => transition.kind === "append" && isEnding(transition.state?.status));
  const written = [...records, ...(isEnd ? ["the end of the run"] : [])];
  return written.length === 0 ? `${when} the store call ${method}` : `${when} storing ${written.join(", ")}`;
}

function isEnding(status: string | undefined): boolean {
  return status === "completed" || status === "failed" || status === "cancelled";
}

/** A promise that never settles: a dead process gets no reply. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
