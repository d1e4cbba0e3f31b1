import { memoryStore } from "pawl";
import { describe, expect, test } from "vitest";
import { runPublished } from "./published.ts";
import { OF_MIWG, PUBLISHED } from "./published-models.ts";
import { suiteFolder } from "./suites.ts";

describe("models as modelers save them", () => {
  test.each(PUBLISHED)("$name: runs to its end, and alike if its workers crash", async (model) => {
    const plain = await runPublished(model, memoryStore(), { kills: false });
    expect(plain.output).toEqual(model.output);
    expect(plain.ignored).toEqual(model.ignored ?? []);
    const killed = await runPublished(model, memoryStore(), { kills: true });
    expect({ ...killed, kills: 0 }).toEqual(plain);
    expect(killed.kills).toBeGreaterThan(0);
  });

  test.skipIf(suiteFolder("miwg") === null).each(OF_MIWG)(
    "$name: runs to its end while workers crash",
    async (model) => {
      const { output, kills } = await runPublished(model, memoryStore(), { kills: true });
      expect(output).toEqual({});
      expect(kills).toBeGreaterThan(0);
    },
  );
});
