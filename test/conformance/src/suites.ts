import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The folder of a suite: in `PAWL_CONFORMANCE`, or beside the repository. Null if it does not exist. */
export function suiteFolder(name: string): string | null {
  const root = fileURLToPath(new URL("../../../", import.meta.url));
  const places = [
    process.env.PAWL_CONFORMANCE,
    join(root, "../shared/conformance"),
    join(root, "../../shared/conformance"),
  ];
  for (const place of places) {
    if (place !== undefined && existsSync(join(place, name))) return join(place, name);
  }
  return null;
}
