import { describe, expect, it } from "vitest";
import { storeContract } from "../../testing/store-contract/index.ts";
import { memoryStore } from "./memory-store.ts";

/** Several engines of one process may share a memory store. */
async function sharedMemory() {
  const store = memoryStore();
  return { store, another: () => store };
}

storeContract("memory", sharedMemory, { describe, it, expect });
