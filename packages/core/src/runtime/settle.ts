import { nodeProcess } from "./machine.ts";

/**
 * Runs all ticks and promise continuations that are under way, and whatever comes of them: so it ends when nobody asks for a tick any
 * more. To be called in a tick, or outside of all of them.
 */
export type Settle = () => void;

/** Node's own, which it calls between timers. It has a name and no documentation, so who uses it looks whether it `settles`. */
export function nodeSettle(): Settle | null {
  const { _tickCallback: settle } = (nodeProcess ?? {}) as { readonly _tickCallback?: unknown };
  return typeof settle === "function" ? (settle as Settle) : null;
}

/** Whether it does what it should. To be called in a tick. */
export function settles(settle: Settle): boolean {
  let hasSettled = false;
  const chain = async (): Promise<void> => {
    await null;
    await new Promise<void>((resolve) => process.nextTick(resolve));
    await null;
    hasSettled = true;
  };
  void chain();
  settle();
  return hasSettled;
}
