import { STORE } from "../engine/config.ts";
import { kinds, readArgument } from "../model/option-check.ts";
import type { Transition } from "../model/transition.ts";
import type { Reader, Store } from "../store/store.ts";

/** A call of a store. */
export interface StoreCall {
  readonly method:
    | Exclude<keyof Store, "now" | "exactClock" | "transactions" | "batchMax" | "busyMax" | "watch" | "reader">
    | "read";
  /** The transitions of a commit. Empty for other calls. */
  readonly batch: readonly Transition[];
}

/** Answers a call, by `proceed` or instead of it. */
export type Intercept = <T>(call: StoreCall, proceed: () => Promise<T>) => Promise<T>;

/** A store whose calls pass through `intercept`, which may count, delay, fail or drop them. */
export function intercepted(store: Store, intercept: Intercept): Store {
  readArgument(STORE, store, "store");
  readArgument(kinds.callback, intercept, "intercept");
  const through = <T>(
    method: StoreCall["method"],
    proceed: () => Promise<T>,
    batch: readonly Transition[] = [],
  ): Promise<T> => intercept({ method, batch }, proceed);
  return {
    now: () => store.now(),
    exactClock: store.exactClock,
    transactions: store.transactions,
    ...(store.batchMax === undefined ? {} : { batchMax: store.batchMax }),
    ...(store.busyMax === undefined ? {} : { busyMax: store.busyMax }),
    watch: (listener) => store.watch(listener),
    open: (world) => through("open", () => store.open(world)),
    commit: (batch) => through("commit", () => store.commit(batch), batch),
    ...(store.commitWithin === undefined
      ? {}
      : {
          commitWithin: (tx: unknown, batch: readonly Transition[]) =>
            through(
              "commitWithin",
              () => store.commitWithin?.(tx, batch) ?? Promise.reject(new Error("the store lost this method")),
              batch,
            ),
        }),
    ...(store.readClock === undefined
      ? {}
      : {
          readClock: () => through("readClock", () => store.readClock?.() ?? lost("readClock")),
        }),
    claim: (request) => through("claim", () => store.claim(request)),
    dueRuns: (worker, limit) => through("dueRuns", () => store.dueRuns(worker, limit)),
    ownedRunning: (worker) => through("ownedRunning", () => store.ownedRunning(worker)),
    nextDueAt: (worker, workflows) => through("nextDueAt", () => store.nextDueAt(worker, workflows)),
    load: (...args) => through("load", () => store.load(...args)),
    heartbeat: (...args) => through("heartbeat", () => store.heartbeat(...args)),
    retire: (worker) => through("retire", () => store.retire(worker)),
    prune: (request) => through("prune", () => store.prune(request)),
    close: () => through("close", () => store.close()),
    reader: readerThrough(store.reader, (proceed) => through("read", proceed)),
  };
}

function lost(method: string): Promise<never> {
  return Promise.reject(new Error(`the store lost its method ${method}`));
}

function readerThrough(reader: Reader, through: <T>(proceed: () => Promise<T>) => Promise<T>): Reader {
  return {
    get: (...args) => through(() => reader.get(...args)),
    ...(reader.ended === undefined
      ? {}
      : { ended: (runIds) => through(() => reader.ended?.(runIds) ?? lost("ended")) }),
    list: (...args) => through(() => reader.list(...args)),
    count: (...args) => through(() => reader.count(...args)),
    journal: (...args) => through(() => reader.journal(...args)),
    inbox: (...args) => through(() => reader.inbox(...args)),
    children: (...args) => through(() => reader.children(...args)),
    deadLetters: (...args) => through(() => reader.deadLetters(...args)),
    deadLetter: (...args) => through(() => reader.deadLetter(...args)),
    documents: (...args) => through(() => reader.documents(...args)),
    document: (...args) => through(() => reader.document(...args)),
    workers: (...args) => through(() => reader.workers(...args)),
  };
}
