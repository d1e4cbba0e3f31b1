import { guardArguments, PawlError } from "pawl";
import type { Process } from "../model/process.ts";

/** A problem that prevents a model from being deployed, or a warning that does not. */
export interface Problem {
  /** The id of the element. Null if it has none. */
  readonly element: string | null;
  readonly line: number | null;
  /** What is wrong, and how to fix it. */
  readonly text: string;
}

/** An extension of a model that is not executed. */
export interface IgnoredExtension {
  /** The id of the element that has it, or of the nearest element around it. Null if there is none. */
  readonly element: string | null;
  /** Its name as in the document, such as `camunda:jobPriority`. */
  readonly extension: string;
  readonly line: number | null;
}

/** A model that was read as far as possible. */
export interface InspectedModel {
  readonly processes: readonly Process[];
  readonly problems: Problems;
  /** Flaws that change no execution. */
  readonly warnings: readonly Problem[];
  /** Extensions that are not executed. */
  readonly ignored: readonly IgnoredExtension[];
}

const SHOWN_MAX = 20;

/** Collects all problems of a model. */
export class Problems {
  readonly #found: Problem[] = [];

  add(element: string | null, line: number | null, text: string): void {
    this.#found.push({ element, line, text });
  }

  get all(): readonly Problem[] {
    return this.#found;
  }

  /** Throws `MODEL_INVALID` if there are problems. */
  check(model: string): void {
    if (this.#found.length > 0) throw modelInvalid(model, this.#found);
  }
}

/** The problems in a `MODEL_INVALID` error. Empty for other errors. */
export function problemsOf(error: unknown): readonly Problem[] {
  return guardArguments("error", () =>
    error instanceof Error && "problems" in error ? (error.problems as readonly Problem[]) : [],
  );
}

export function modelInvalid(model: string, problems: readonly Problem[], cause?: unknown): PawlError {
  const lines = problems.slice(0, SHOWN_MAX).map(textOf);
  const more = problems.length > SHOWN_MAX ? [`… and ${problems.length - SHOWN_MAX} more`] : [];
  const message = `${model} cannot be deployed:\n${[...lines, ...more].join("\n")}`;
  const error = new PawlError("MODEL_INVALID", message, { cause });
  return Object.assign(error, { problems });
}

function textOf({ element, line, text }: Problem): string {
  const place = [line === null ? null : `line ${line}`, element].filter((part) => part !== null).join(", ");
  return place === "" ? text : `${place}: ${text}`;
}
