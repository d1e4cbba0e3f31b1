import { PawlError } from "./errors.ts";
import { pathStep, read, textOf } from "./payload-values.ts";

/** The part of Standard Schema version 1 that Pawl uses. zod, valibot, arktype and others implement it. */
export interface StandardSchema<Input = unknown, Output = Input> {
  readonly "~standard": {
    readonly version: 1;
    readonly vendor: string;
    readonly validate: (value: unknown) => SchemaResult<Output> | Promise<SchemaResult<Output>>;
    /** For types only. Absent at run time. */
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
/** The values that the schema accepts. */
export type InferIn<Schema extends StandardSchema> = Types<Schema>["input"];
/** The values that the schema returns. */
export type InferOut<Schema extends StandardSchema> = Types<Schema>["output"];

const ISSUES_SHOWN_MAX = 10;

/** Returns the value with the schema's defaults and transforms applied. `what` names the value in errors. */
export function checkSchema<Output>(schema: StandardSchema<unknown, Output>, value: unknown, what: string): Output;
export function checkSchema(schema: StandardSchema, value: unknown, what: string): unknown {
  const result = validate(schema, value, what);
  if (typeof read(result, "then") === "function") {
    // The result is unused, so its rejection must not become an unhandled rejection.
    Promise.resolve(result).catch(() => undefined);
    throw new PawlError("OPTION_INVALID", `${what}: the schema is asynchronous; pass a synchronous schema`);
  }
  const issues = read(result, "issues");
  if (Array.isArray(issues)) {
    throw new PawlError("SCHEMA_REFUSED", `${what} does not match its schema: ${issuesText(issues)}`);
  }
  if (typeof result !== "object" || result === null || !("value" in result)) {
    throw new PawlError("OPTION_INVALID", `${what}: the schema returned neither a value nor issues`);
  }
  return result.value;
}

/** Calls the schema. It is third-party code, so the type of its result is unknown. */
function validate(schema: StandardSchema, value: unknown, what: string): unknown {
  const standard = (schema as Partial<StandardSchema> | null | undefined)?.["~standard"];
  if (typeof standard?.validate !== "function") {
    throw new PawlError("OPTION_INVALID", `${what}: the schema is not a Standard Schema (zod, valibot, arktype …)`);
  }
  try {
    return standard.validate(value);
  } catch (cause) {
    throw new PawlError("SCHEMA_REFUSED", `${what} cannot be checked: the schema threw: ${textOf(cause)}`, { cause });
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
