/** What a step body of the load brings: a value that follows from the input, and which try of it this was. */
export interface StepValue {
  readonly value: number;
  readonly body: string;
}

/** What a run of the load returns: the value that follows from its input, and what it came about by. */
export interface Told {
  readonly value: number;
  /** The tries whose values it was given, in order. */
  readonly bodies: readonly string[];
  /** Ids of the messages and events that it received, in order. */
  readonly received: readonly string[];
}

/** Messages and events carry their own id, so that whoever has one can be asked which. */
export interface Parcel {
  readonly id: string;
}

/** What a step is worth: follows from its workflow's salt and the step's name alone. */
export function worth(salt: string, step: string): number {
  let hash = 7;
  for (const char of `${salt}/${step}`) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 1_000_003;
  return hash % 1_000;
}

const FAILURE = "planned failure of body ";

/** The text of a failure that a body is told to have, so that its record says which try it was. */
export function failureText(body: string): string {
  return `${FAILURE}${body}`;
}

export function bodyInFailure(text: string): string | null {
  return text.startsWith(FAILURE) ? text.slice(FAILURE.length) : null;
}
