import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Mutant } from "./mutant.ts";

/** Where the built engine lies. */
export function builtEngine(): string {
  return fileURLToPath(new URL("../../packages/core/dist", import.meta.url));
}

/** The text that a mutant replaces, however it is broken into lines. */
function pattern(mutant: Mutant): RegExp {
  const words = mutant.find.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(words.join("\\s+"), "g");
}

/** How often the text that a mutant replaces occurs in the built engine; anything but once is a mistake in the list. */
export function occurrences(mutant: Mutant, dist = builtEngine()): number {
  return [...readFileSync(join(dist, mutant.file), "utf8").matchAll(pattern(mutant))].length;
}

/** The text of the mutant's file with the bug planted. */
export function planted(mutant: Mutant, dist = builtEngine()): string {
  const count = occurrences(mutant, dist);
  if (count !== 1) throw new Error(`mutant "${mutant.name}": its text occurs ${count} times in ${mutant.file}`);
  return readFileSync(join(dist, mutant.file), "utf8").replace(pattern(mutant), () => mutant.replace);
}

/** A copy of the built engine with the bug planted; gives its folder. */
export function plant(mutant: Mutant): string {
  const dist = builtEngine();
  const folder = mkdtempSync(join(tmpdir(), "pawl-mutant-"));
  const copy = join(folder, "dist");
  cpSync(dist, copy, { recursive: true, filter: (path) => !path.endsWith(".map") && !path.endsWith(".d.ts") });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  writeFileSync(join(copy, mutant.file), planted(mutant, copy));
  return folder;
}
