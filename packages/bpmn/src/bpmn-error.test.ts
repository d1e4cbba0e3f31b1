import { expect, test } from "vitest";
import { BpmnError } from "./index.ts";

test("a BpmnError has the code that error events catch, and uses it as the default message", () => {
  expect(new BpmnError("LATE")).toMatchObject({ name: "BpmnError", code: "LATE", message: "LATE", variables: {} });
  expect(new BpmnError("LATE", "two days late", { days: 2 })).toMatchObject({
    message: "two days late",
    variables: { days: 2 },
  });
});
