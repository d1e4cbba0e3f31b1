/**
 * Holds the place of a resource where nothing is acquired. Code may read from it and call it on its way to the next step: more
 * of the same comes of that.
 */
export const STAND_IN: unknown = new Proxy(() => undefined, {
  get: (_, key) => (key === "then" ? undefined : key === Symbol.toPrimitive ? () => "" : STAND_IN),
  apply: () => STAND_IN,
});
