import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { loadPawl } from "./engine-under-test.ts";
import type { Failure } from "./job.ts";
import { shrinkCase, sizeOf } from "./shrink-case.ts";
import { NO_FAULTS, type SimCase } from "./sim-case.ts";
import { simulate } from "./simulate.ts";

const FOLDER = fileURLToPath(new URL("../cases", import.meta.url));

/**
 * Small cases that fail when a guard of the engine is removed. A seed means another case as soon as the generator changes; these stay
 * as they are. `--keep` writes them.
 */
export function savedCases(): readonly SimCase[] {
  return readdirSync(FOLDER)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => {
      const saved = JSON.parse(readFileSync(join(FOLDER, name), "utf8")) as SimCase;
      return { ...saved, faultRates: { ...NO_FAULTS, ...saved.faultRates } };
    });
}

/** Shrinks the case that fails with the engine in `dist`, and saves it. Returns null if it also fails with the engine of this repository. */
export async function saveCase(name: string, dist: string, { plan, violation }: Failure): Promise<string | null> {
  const small = await shrinkCase(await loadPawl(dist), plan, violation.invariant);
  const { violations } = await simulate(await loadPawl(null), small);
  if (violations.length > 0) return null;
  mkdirSync(FOLDER, { recursive: true });
  const file = `${name.replace(/[^a-z0-9]+/gi, "-").toLowerCase()}.json`;
  writeFileSync(join(FOLDER, file), `${JSON.stringify(small, null, 1)}\n`);
  return `${file}, ${sizeOf(small)} nodes`;
}
