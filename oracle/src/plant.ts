import { cpSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Mutant } from "./mutants.ts";

const BUILT = fileURLToPath(new URL("../../packages/bpmn/dist", import.meta.url));

/** The text that a mutant replaces, however it is broken into lines. */
function pattern(mutant: Mutant): RegExp {
  const words = mutant.find.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(words.join("\\s+"), "g");
}

/** How often the text that a mutant replaces occurs in what was built; anything but once is a mistake in the list. */
export function occurrences(mutant: Mutant, dist = BUILT): number {
  return [...readFileSync(join(dist, "machine", mutant.file), "utf8").matchAll(pattern(mutant))].length;
}

/** A copy of the built machine with the bug planted; gives its folder. The machine imports nothing but the model. */
export function plant(mutant: Mutant): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-bpmn-mutant-"));
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  for (const part of ["machine", "model"]) cpSync(join(BUILT, part), join(folder, part), { recursive: true });
  if (occurrences(mutant, folder) !== 1) {
    throw new Error(`mutant "${mutant.name}": its text occurs ${occurrences(mutant, folder)} times in ${mutant.file}`);
  }
  const file = join(folder, "machine", mutant.file);
  writeFileSync(
    file,
    readFileSync(file, "utf8").replace(pattern(mutant), () => mutant.replace),
  );
  return folder;
}
