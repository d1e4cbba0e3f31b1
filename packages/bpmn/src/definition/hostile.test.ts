import { PawlError } from "pawl";
import { describe, expect, test } from "vitest";
import { readDecisions } from "../dmn/read-decisions.ts";
import { documentOf } from "../testing/document.ts";
import { readBpmn } from "./read-bpmn.ts";

/** Attacks in an untrusted document. Every reader of documents must reject them. */

const HEAD = '<?xml version="1.0"?>';
const BILLION = `${HEAD}<!DOCTYPE a [<!ENTITY x0 "x">${Array.from({ length: 12 }, (_, i) => `<!ENTITY x${i + 1} "${`&x${i};`.repeat(10)}">`).join("")}]>`;
const nested = (tag: string): string => `<${tag} id="n">`.repeat(100_000) + `</${tag}>`.repeat(100_000);

const HOSTILE: ReadonlyArray<readonly [string, string | Uint8Array, string]> = [
  ["an entity bomb", `${BILLION}<a>&x12;</a>`, "XML_INVALID"],
  ["an external entity", `${HEAD}<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>`, "XML_INVALID"],
  ["an external subset", `${HEAD}<!DOCTYPE a SYSTEM "http://127.0.0.1:1/x.dtd"><a/>`, "XML_INVALID"],
  ["100,000 nested sub-processes", documentOf(nested("subProcess")), "XML_LIMIT"],
  ["100,000 nested extensions", documentOf(`<extensionElements>${nested("pawl:a")}</extensionElements>`), "XML_LIMIT"],
  ["fifty million characters", documentOf(`<documentation>${"x".repeat(50_000_000)}</documentation>`), "XML_LIMIT"],
  ["fifty million bytes", new TextEncoder().encode(documentOf(" ".repeat(50_000_000))), "XML_LIMIT"],
  ["a million elements", documentOf("<task/>".repeat(1_000_000)), "XML_LIMIT"],
  ["a value of ten million characters", documentOf(`<task id="a" name="${"x".repeat(9_000_000)}"/>`), "XML_LIMIT"],
  ["bytes that are not text", new Uint8Array(1_000_000).fill(0xff), "XML_INVALID"],
];

async function codeOf(read: () => unknown): Promise<string> {
  try {
    await read();
  } catch (error) {
    if (error instanceof PawlError) return error.code;
    throw error;
  }
  return "read";
}

describe("hostile documents", () => {
  test.each(HOSTILE)("a hostile document is rejected as a process: %s", async (_, source, code) => {
    expect(await codeOf(() => readBpmn(source))).toBe(code);
  });

  test.each(HOSTILE)("a hostile document is rejected as a decision: %s", async (_, source, code) => {
    expect(await codeOf(() => readDecisions(source))).toBe(code);
  });

  test("rejected documents are not kept in memory", async () => {
    const before = process.memoryUsage().rss;
    for (const [, source] of HOSTILE) await codeOf(() => readBpmn(source));
    // They have 130 million characters; copies of them, or trees, would be many times that.
    expect(process.memoryUsage().rss - before).toBeLessThan(400 * 1024 * 1024);
  });
});
