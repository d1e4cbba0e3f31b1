/** The result of a step body: a value that follows from the input, and the id of the body. */
export interface StepValue {
  readonly value: number;
  readonly body: string;
}

/** The output of a run: a value that follows from its input, with the bodies and messages that led to it. */
export interface RunOutput {
  readonly value: number;
  /** The ids of the bodies whose values it received, in order. */
  readonly bodies: readonly string[];
  /** Ids of the messages and events that it received, in order. */
  readonly received: readonly string[];
}

/** The value of a message or event: its own id. */
export interface PostValue {
  readonly id: string;
}

/** The value of a step, which depends only on the salt of its run and on its name. */
export function worth(salt: string, step: string): number {
  let hash = 7;
  for (const char of `${salt}/${step}`) hash = (hash * 31 + (char.codePointAt(0) ?? 0)) % 1_000_003;
  return hash % 1_000;
}

const FAILURE = "planned failure of body ";

/** The message of a planned failure. It contains the body id, so that the record identifies the attempt. */
export function failureText(body: string): string {
  return `${FAILURE}${body}`;
}

export function bodyInFailure(text: string): string | null {
  return text.startsWith(FAILURE) ? text.slice(FAILURE.length) : null;
}
