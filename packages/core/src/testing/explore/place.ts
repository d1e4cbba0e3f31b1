import { AsyncLocalStorage } from "node:async_hooks";

/** Where user code is at work: in a workflow's function, or in the body of a step. */
export interface Place {
  readonly kind: "code" | "body";
  /** Time, as it is there. */
  now(): number;
  /** In [0, 1). In a body: repeatable. */
  random(): number;
  /** Something that is not the same in every replay was asked for in a workflow's function. */
  strayed(what: string): void;
  /** An effect happened there. */
  note(what: string): void;
}

const places = new AsyncLocalStorage<Place>();

export function currentPlace(): Place | undefined {
  return places.getStore();
}

export function atPlace<Value>(place: Place, call: () => Value): Value {
  return places.run(place, call);
}
