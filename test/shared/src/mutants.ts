import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** A bug planted on purpose: one textual edit of a built file. */
export interface Mutant {
  readonly name: string;
  /** Relative to the folder that is edited. */
  readonly file: string;
  /** Occurs once in the file. White space and line breaks match any white space. */
  readonly find: string;
  readonly replace: string;
}

/** A seed that fails under a mutant. */
export interface Catch {
  readonly seed: number;
  /** The check that failed, with details if there are any. */
  readonly found: string;
}

const NAME_WIDTH = 72;
const MODULES = fileURLToPath(new URL("../../../node_modules", import.meta.url));

/** The folder with the built code of `packages/<name>`. */
export function builtPackage(name: string): string {
  return fileURLToPath(new URL(`../../../packages/${name}/dist`, import.meta.url));
}

function pattern(mutant: Mutant): RegExp {
  const words = mutant.find.split(/\s+/).map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"));
  return new RegExp(words.join("\\s+"), "g");
}

/** How often the text that a mutant replaces occurs in its file. Any count but 1 is a mistake in the list of mutants. */
export function occurrences(mutant: Mutant, folder: string): number {
  return [...readFileSync(join(folder, mutant.file), "utf8").matchAll(pattern(mutant))].length;
}

/** The text of the mutant's file with the bug planted. */
export function mutatedText(mutant: Mutant, folder: string): string {
  const count = occurrences(mutant, folder);
  if (count !== 1) throw new Error(`mutant "${mutant.name}": its text occurs ${count} times in ${mutant.file}`);
  return readFileSync(join(folder, mutant.file), "utf8").replace(pattern(mutant), () => mutant.replace);
}

/** Copies the built folder to a temporary folder, plants the bug there, and returns the path of the temporary folder. */
function plant(mutant: Mutant, built: string): string {
  const folder = mkdtempSync(join(tmpdir(), "pawl-mutant-"));
  const copy = join(folder, "dist");
  cpSync(built, copy, { recursive: true, filter: (path) => !path.endsWith(".map") && !path.endsWith(".d.ts") });
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  // The copy imports the packages that the original imports.
  symlinkSync(MODULES, join(folder, "node_modules"), "dir");
  writeFileSync(join(copy, mutant.file), mutatedText(mutant, copy));
  return folder;
}

/** Plants each mutant in a copy of `built`, lets `firstFailure` search for a seed that catches it, and prints a table. True if all are caught. */
export async function runMutants<Planted extends Mutant>(options: {
  readonly mutants: readonly Planted[];
  /** Only mutants with this text in their file or name are planted. */
  readonly only: string;
  readonly built: string;
  /** The number of seeds that `firstFailure` executes per mutant. */
  readonly seeds: number;
  /** Searches with the code in `dist`, which has the bug. Null if no seed fails. */
  readonly firstFailure: (dist: string, mutant: Planted) => Promise<Catch | null>;
}): Promise<boolean> {
  const mutants = options.mutants.filter(({ file, name }) => `${file} ${name}`.includes(options.only));
  let caught = 0;
  console.log(`${"mutant".padEnd(NAME_WIDTH)}${"seed".padStart(6)}  caught by`);
  for (const mutant of mutants) {
    const count = occurrences(mutant, options.built);
    if (count !== 1) {
      console.log(`${mutant.name.padEnd(NAME_WIDTH)}its text occurs ${count} times in ${mutant.file}`);
      continue;
    }
    const folder = plant(mutant, options.built);
    try {
      const failure = await options.firstFailure(join(folder, "dist"), mutant);
      if (failure !== null) caught += 1;
      const { seed, found } = failure ?? { seed: "-", found: "NOT CAUGHT" };
      console.log(`${mutant.name.padEnd(NAME_WIDTH)}${String(seed).padStart(6)}  ${found}`);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  }
  console.log(`${caught} of ${mutants.length} mutants caught within ${options.seeds} seeds each`);
  return caught === mutants.length;
}
