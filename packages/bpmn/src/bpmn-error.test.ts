import { expect, test } from "vitest";
import { BpmnError } from "./index.ts";

test("a BPMN error has the code that error events catch, and is described by it unless told otherwise", () => {
  expect(new BpmnError("LATE")).toMatchObject({ name: "BpmnError", code: "LATE", message: "LATE", variables: {} });
  expect(new BpmnError("LATE", "two days late", { days: 2 })).toMatchObject({
    message: "two days late",
    variables: { days: 2 },
  });
});
