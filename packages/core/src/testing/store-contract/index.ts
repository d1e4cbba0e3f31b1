import type { Store } from "../../store/store.ts";
import { claimCases } from "./claim-cases.ts";
import { openDocumentCases } from "./document-cases.ts";
import { eventCases } from "./event-cases.ts";
import { fenceCases } from "./fence-cases.ts";
import { generationCases } from "./generation-cases.ts";
import { guardCases } from "./guard-cases.ts";
import type { ContractSubject, Harness, StoreFactory } from "./harness.ts";
import { historyCases } from "./history-cases.ts";
import { journalCases } from "./journal-cases.ts";
import { documentCases, letterCases } from "./letter-cases.ts";
import { messageCases } from "./message-cases.ts";
import { readingCases } from "./reading-cases.ts";
import { resubmissionCases } from "./resubmission-cases.ts";
import { retentionCases } from "./retention-cases.ts";
import { textCases } from "./text-cases.ts";
import { transactionCases } from "./transaction-cases.ts";
import { type Case, manualWorld, Trial } from "./trial.ts";
import { undoCases } from "./undo-cases.ts";
import { workerCases } from "./worker-cases.ts";

const GROUPS: readonly (readonly [string, readonly Case[]])[] = [
  ["guards", guardCases],
  ["the journal", journalCases],
  ["fences", fenceCases],
  ["resent transitions", resubmissionCases],
  ["history", historyCases],
  ["generations", generationCases],
  ["user code in transactions", transactionCases],
  ["messages and children", messageCases],
  ["events", eventCases],
  ["claims and time", claimCases],
  ["workers", workerCases],
  ["compensation", undoCases],
  ["retention", retentionCases],
  ["dead letters", letterCases],
  ["documents", documentCases],
  ["open documents", openDocumentCases],
  ["text and size", textCases],
  ["reading", readingCases],
];

/**
 * Tests a store against everything that the engine relies on. Each case gets a separate store.
 *
 * ```ts
 * import { describe, expect, it } from "vitest";
 * storeContract("memory", async () => ({ store: memoryStore() }), { describe, it, expect });
 * ```
 */
export function storeContract(name: string, factory: StoreFactory, harness: Harness): void {
  const { describe, it, expect } = harness;
  describe(`the ${name} store`, () => {
    for (const [group, cases] of GROUPS) {
      describe(group, () => {
        for (const { name: title, run } of cases) {
          it(title, async () => runCase(await factory(), expect, run));
        }
      });
    }
  });
}

async function runCase(subject: ContractSubject, expect: Harness["expect"], run: Case["run"]): Promise<void> {
  const world = manualWorld();
  const stores: Store[] = [];
  const open = async (store: Store): Promise<Store> => {
    stores.push(store);
    await store.open(world);
    return store;
  };
  try {
    const { another } = subject;
    const store = await open(subject.store);
    await run(new Trial({ store, world, expect, another: another === undefined ? null : () => open(another()) }));
  } finally {
    for (const store of stores) await store.close();
    await subject.dispose?.();
  }
}
