import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { storeContract } from "../../testing/store-contract/index.ts";
import { sqliteStore } from "./index.ts";

async function fileStore() {
  const folder = await mkdtemp(join(tmpdir(), "pawl-"));
  const path = join(folder, "store.db");
  return {
    store: sqliteStore(path),
    another: () => sqliteStore(path),
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
}

storeContract("SQLite", fileStore, { describe, it, expect });
