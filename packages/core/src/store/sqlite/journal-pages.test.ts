import { expect, it } from "vitest";
import { append, create, record } from "../../testing/store-contract/builders.ts";
import { ManualWorld } from "../../testing/store-contract/manual-world.ts";
import { sqliteStore } from "./index.ts";

it("a journal comes back as it was written, whatever its texts cannot hold", async () => {
  const store = sqliteStore(":memory:");
  await store.open(new ManualWorld(1_700_000_000_000));
  // In the first page everything, behind it what its text can hold.
  const at = (index: number, every: number): boolean => index < 20_000 && index % every === 1;
  const written = Array.from({ length: 20_100 }, (_, index) =>
    record(index + 1, {
      location: index % 7 === 0 ? `charge-${index}\u0000\ud800` : `charge-${index}`,
      payload: at(index, 5_000) ? JSON.stringify("x".repeat(5_000)) : JSON.stringify(`\ufffe"\\\u2028${index}`),
      detail: at(index, 9_000) ? "d".repeat(2_040) : null,
      startedAt: 1_700_000_000_000 + (at(index, 6_000) ? 0.123_4 : 0),
      at: 1_700_000_000_000 + index + (at(index, 7_000) ? 0.567_8 : 0),
    }),
  );
  await store.commit([create("long", { owner: "w" }), append("long", { records: written })]);
  expect((await store.load("long"))?.records).toEqual(written);
  expect(await store.reader.journal("long", { afterSeq: 12, limit: 20_050 })).toEqual(written.slice(12, 20_062));
  await store.close();
});
