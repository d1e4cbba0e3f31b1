import { PawlError } from "pawl";

/** Something in a model that keeps it from being deployed. */
export interface Problem {
  /** The element's id; null where it has none. */
  readonly element: string | null;
  readonly line: number | null;
  /** What is wrong, and what to do about it. */
  readonly text: string;
}

const SHOWN_MAX = 20;

/** All that is wrong with a model, found at once. */
export class Problems {
  readonly #found: Problem[] = [];

  add(element: string | null, line: number | null, text: string): void {
    this.#found.push({ element, line, text });
  }

  get all(): readonly Problem[] {
    return this.#found;
  }

  /** Throws if there are any. */
  check(what: string): void {
    if (this.#found.length > 0) throw modelInvalid(what, this.#found);
  }
}

/** The problems that made a model be refused; empty for other errors. */
export function problemsOf(error: unknown): readonly Problem[] {
  return error instanceof Error && "problems" in error ? (error.problems as readonly Problem[]) : [];
}

function modelInvalid(what: string, problems: readonly Problem[]): PawlError {
  const lines = problems.slice(0, SHOWN_MAX).map(textOf);
  const more = problems.length > SHOWN_MAX ? [`… and ${problems.length - SHOWN_MAX} more`] : [];
  const error = new PawlError("MODEL_INVALID", `${what} cannot be deployed:\n${[...lines, ...more].join("\n")}`);
  return Object.assign(error, { problems });
}

function textOf({ element, line, text }: Problem): string {
  const place = [line === null ? null : `line ${line}`, element].filter((part) => part !== null).join(", ");
  return place === "" ? text : `${place}: ${text}`;
}
