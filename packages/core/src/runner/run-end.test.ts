import { expect, it } from "vitest";
import { createCodec } from "../model/payload.ts";
import { endState } from "./run-end.ts";

const CODEC = createCodec(null, { bytesMax: 1_000, warnBytes: 1_000, onLarge: () => undefined });

it("the end of a generation takes a seq, so the two journals cannot be confused", () => {
  const ending = { kind: "continued", workflow: "w", version: 2, input: 1 } as const;
  expect(endState(CODEC, ending, "r", { seq: 7, at: 9 })).toMatchObject({ status: "continued", baseSeq: 8, at: 9 });
});
