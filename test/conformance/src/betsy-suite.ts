import { readFileSync } from "node:fs";
import { join } from "node:path";

export interface BetsyCase {
  readonly name: string;
  readonly processKey: string;
  readonly variables: Readonly<Record<string, unknown>>;
  readonly delayMs: number;
  readonly startParallelProcessFirst: boolean;
  readonly assertions: readonly string[];
}

export interface BetsyModel {
  readonly name: string;
  readonly file: string;
  readonly status: string;
  readonly testCases: readonly BetsyCase[];
}

export function readBetsy(folder: string): ReadonlyArray<BetsyModel & { readonly xml: string }> {
  const models = JSON.parse(readFileSync(join(folder, "betsy.json"), "utf8")) as readonly BetsyModel[];
  return models.map((model) => ({ ...model, xml: readFileSync(join(folder, model.file), "utf8") }));
}
