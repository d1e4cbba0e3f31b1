/**
 * The whole batch is rolled back on account of a transaction in it: the database took everything back at one of its
 * statements, or refused to commit what it had left behind.
 */
export class SpoiledBatch extends Error {
  override readonly name = "SpoiledBatch";
}
