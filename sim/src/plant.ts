import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { Mutant } from "./mutants.ts";

/** Where the built engine lies. */
export function builtEngine(): string {
  return dirname(createRequire(import.meta.url).resolve("pawl"));
}

/** How often the text that a mutant replaces occurs in the built engine; anything but once is a mistake in the list. */
export function occurrences(mutant: Mutant, dist = builtEngine()): number {
  return readFileSync(join(dist, mutant.file), "utf8").split(mutant.find).length - 1;
}

/** A copy of the built engine with the bug planted; gives its folder. */
export function plant(mutant: Mutant): string {
  const dist = builtEngine();
  const folder = mkdtempSync(join(tmpdir(), "pawl-mutant-"));
  const copy = join(folder, "dist");
  cpSync(dist, copy, { recursive: true, filter: (path) => !path.endsWith(".map") && !path.endsWith(".d.ts") });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  const file = join(copy, mutant.file);
  if (occurrences(mutant, copy) !== 1) throw new Error(`mutant "${mutant.name}": its text occurs ${occurrences(mutant, copy)} times in ${mutant.file}`);
  writeFileSync(file, readFileSync(file, "utf8").replace(mutant.find, () => mutant.replace));
  return folder;
}

