/** What `ctx.join` rejects with: every branch has come to its end, and these failed. */
export class JoinError extends Error {
  override readonly name = "JoinError";
  readonly code = "JOIN_FAILED";
  readonly errors: Readonly<Record<string, Error>>;
  constructor(join: string, errors: Readonly<Record<string, Error>>) {
    super(`join ${join} failed: ${reasons(errors)}`);
    this.errors = errors;
  }
}

/** What `ctx.race` rejects with: no branch succeeded. */
export class RaceError extends Error {
  override readonly name = "RaceError";
  readonly code = "RACE_FAILED";
  readonly errors: Readonly<Record<string, Error>>;
  constructor(race: string, errors: Readonly<Record<string, Error>>) {
    super(`race ${race} failed in every branch: ${reasons(errors)}`);
    this.errors = errors;
  }
}

function reasons(errors: Readonly<Record<string, Error>>): string {
  return Object.entries(errors)
    .map(([branch, error]) => `${branch}: ${error instanceof Error ? error.message : String(error)}`)
    .join("; ");
}
