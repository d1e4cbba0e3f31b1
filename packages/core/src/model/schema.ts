import { PawlError } from "./errors.ts";
import { pathStep, read, textOf } from "./payload-values.ts";

/** The Standard Schema interface, version 1, as far as it is used here: zod, valibot, arktype and others have it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** Never there when the code runs: carries the types. */
    readonly types?: { readonly input: Input; readonly output: Output } | undefined;
  };
}

export type SchemaResult<Output> =
  | { readonly value: Output; readonly issues?: undefined }
  | { readonly issues: readonly SchemaIssue[] };

export interface SchemaIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

type Types<Schema extends StandardSchema> = NonNullable<Schema["~standard"]["types"]>;
/** What a value must be for the schema to accept it. */
export type InferIn<Schema extends StandardSchema> = Types<Schema>["input"];
/** What the schema makes of a value it accepts. */
export type InferOut<Schema extends StandardSchema> = Types<Schema>["output"];

const ISSUES_SHOWN_MAX = 10;

/** The value as the schema makes it: with its defaults and transforms. `what` names the value in errors. */
export function checkSchema<Output>(schema: StandardSchema<unknown, Output>, value: unknown, what: string): Output;
export function checkSchema(schema: StandardSchema, value: unknown, what: string): unknown {
  const result = validate(schema, value, what);
  if (typeof read(result, "then") === "function") {
    // Its answer comes too late for anybody, and so does its rejection.
    Promise.resolve(result).catch(() => undefined);
    throw new PawlError(
      "OPTION_INVALID",
      `${what}: its schema is asynchronous, and only synchronous ones are supported`,
    );
  }
  const issues = read(result, "issues");
  if (Array.isArray(issues)) {
    throw new PawlError("SCHEMA_REFUSED", `${what} does not fit its schema: ${issuesText(issues)}`);
  }
  if (typeof result !== "object" || result === null || !("value" in result)) {
    throw new PawlError("OPTION_INVALID", `${what}: its schema answers with neither a value nor issues`);
  }
  return result.value;
}

/** What the schema answers. It comes from other hands, so nothing is known of it. */
function validate(schema: StandardSchema, value: unknown, what: string): unknown {
  const standard = (schema as Partial<StandardSchema> | null | undefined)?.["~standard"];
  if (typeof standard?.validate !== "function") {
    throw new PawlError("OPTION_INVALID", `${what}: its schema is not a Standard Schema (zod, valibot, arktype …)`);
  }
  try {
    return standard.validate(value);
  } catch (cause) {
    throw new PawlError("SCHEMA_REFUSED", `${what} can't be checked: its schema threw: ${textOf(cause)}`, { cause });
  }
}

function issuesText(issues: readonly SchemaIssue[]): string {
  const shown = issues.slice(0, ISSUES_SHOWN_MAX).map((issue) => `${pathText(issue.path ?? [])}: ${issue.message}`);
  const more = issues.length - shown.length;
  return more > 0 ? `${shown.join("; ")}; and ${more} more` : shown.join("; ");
}

function pathText(path: NonNullable<SchemaIssue["path"]>): string {
  return path.reduce<string>((text, step) => text + pathStep(typeof step === "object" ? step.key : step), "$");
}
