/** A commit asks the rows for less than all that `Tables` can do; claims, beats and retention are the database's own functions. */
export function neverAsked(what: string): never {
  throw new Error(`${what} is no part of a commit`);
}
