import { copyFileSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { SqliteDriver } from "../store/sqlite/driver.ts";

/**
 * A driver with a SQLite library of its own: the system loads the copy of a native module as another library. Null if the package has no
 * module for this platform.
 */
export function foreignDriver(): SqliteDriver | null {
  const require = createRequire(import.meta.url);
  const modules = join(
    dirname(require.resolve("@photostructure/sqlite/package.json")),
    "prebuilds",
    `${process.platform}-${process.arch}`,
  );
  const folder = mkdtempSync(join(tmpdir(), "pawl-foreign-"));
  try {
    for (const name of namesIn(modules)) {
      const copy = join(folder, name.replaceAll(/[^\w.]/g, "-"));
      copyFileSync(join(modules, name), copy);
      try {
        return (require(copy) as { readonly DatabaseSync: SqliteDriver }).DatabaseSync;
      } catch {
        // It is for another C library.
      }
    }
    return null;
  } finally {
    // A loaded library stays loaded.
    rmSync(folder, { recursive: true, force: true });
  }
}

function namesIn(folder: string): readonly string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}
