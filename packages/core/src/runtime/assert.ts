/** Thrown by `assert`. It stops the worker before an invalid state is written. */
export class AssertionFailed extends Error {
  override readonly name = "AssertionFailed";
}

export function assert(condition: boolean, statement: string): asserts condition {
  if (!condition) throw new AssertionFailed(statement);
}
