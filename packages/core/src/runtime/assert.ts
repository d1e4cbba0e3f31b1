/** States what must be true. A failed one stops the worker before a wrong state is written. */
export class AssertionFailed extends Error {
  override readonly name = "AssertionFailed";
}

export function assert(condition: boolean, statement: string): asserts condition {
  if (!condition) throw new AssertionFailed(statement);
}
