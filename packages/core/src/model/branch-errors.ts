/** `ctx.join` rejects with it after every branch has ended, if at least one failed. */
export class JoinError extends Error {
  override readonly name = "JoinError";
  readonly code = "JOIN_FAILED";
  readonly errors: Readonly<Record<string, Error>>;
  constructor(join: string, errors: Readonly<Record<string, Error>>) {
    super(`join ${join} failed: ${reasons(errors)}`);
    this.errors = errors;
  }
}

/** `ctx.race` rejects with it if every branch failed. */
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
