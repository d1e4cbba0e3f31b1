import { PawlError } from "pawl";
import { describe, expect, test } from "vitest";
import { readXml } from "./read-xml.ts";

function codeOf(source: string | Uint8Array): string {
  try {
    readXml(source);
  } catch (error) {
    if (error instanceof PawlError) return error.code;
    throw error;
  }
  return "read";
}

const bomb = `<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY lol "lol">${Array.from({ length: 9 }, (_, i) => `<!ENTITY lol${i} "${`&lol${i - 1};`.repeat(10)}">`).join("")}]><lolz>&lol8;</lolz>`;

const REJECTED: Readonly<Record<string, string | Uint8Array>> = {
  "an entity bomb": bomb,
  "a quadratic bomb": `<!DOCTYPE a [<!ENTITY x "${"x".repeat(100_000)}">]><a>${"&x;".repeat(1000)}</a>`,
  "an external entity": `<!DOCTYPE a [<!ENTITY x SYSTEM "file:///etc/passwd">]><a>&x;</a>`,
  "a parameter entity": `<!DOCTYPE a [<!ENTITY % x SYSTEM "http://127.0.0.1/x.dtd"> %x;]><a/>`,
  "an external document type": `<!DOCTYPE a SYSTEM "http://127.0.0.1/x.dtd"><a/>`,
  "a document type in lower case": "<!doctype a><a/>",
  "an entity that is not declared": "<a>&nope;</a>",
  "an ampersand alone": "<a>a & b</a>",
  "a reference to no character": "<a>&#0;</a>",
  "a reference to half a character": "<a>&#xD800;</a>",
  "a reference beyond all characters": "<a>&#x110000;</a>",
  "a tag that is not closed": "<a><b></a>",
  "a document that ends early": "<a><b>",
  "a second root": "<a/><b/>",
  "text outside of the root": "<a/>b",
  "no element": "  ",
  "an empty text": "",
  "an attribute given twice": '<a b="1" b="2"/>',
  "an attribute without quotes": "<a b=1/>",
  "attributes without a space": '<a b="1"c="2"/>',
  "a tag inside a value": '<a b="<c/>"/>',
  "a prefix that is not declared": "<x:a/>",
  "a comment without end": "<a><!-- </a>",
  "character data without end": "<a><![CDATA[ </a>",
  "UTF-7": new TextEncoder().encode('<?xml version="1.0" encoding="UTF-7"?>+ADw-a/+AD4-'),
  "bytes that are not UTF-8": new Uint8Array([60, 97, 62, 0xff, 0xfe, 60, 47, 97, 62]),
};

describe("rejected documents", () => {
  test.each(Object.entries(REJECTED))("an XML document is rejected: %s", (_, source) => {
    expect(codeOf(source)).toBe("XML_INVALID");
  });

  test.each([
    ["100,000 nested elements", "<a>".repeat(100_000)],
    ["100,000 nested elements, closed", "<a>".repeat(100_000) + "</a>".repeat(100_000)],
    ["fifty million characters", `<a>${" ".repeat(50_000_000)}</a>`],
    ["fifty million bytes", new Uint8Array(50_000_000).fill(32)],
    ["too many elements", `<a>${"<b/>".repeat(100_001)}</a>`],
    ["too many attributes", `<a ${Array.from({ length: 300 }, (_, i) => `a${i}=""`).join(" ")}/>`],
    ["too long a value", `<a b="${"x".repeat(1_000_001)}"/>`],
    ["too many references", `<a>${"&lt;".repeat(1_000_001)}</a>`],
    [
      "namespace declarations on many levels",
      `<a>${Array.from({ length: 250 }, (_, d) => `<a ${Array.from({ length: 200 }, (_, i) => `xmlns:p${d}x${i}=""`).join(" ")}>`).join("")}`,
    ],
  ])("an XML document exceeds a limit: %s", (_, source) => {
    expect(codeOf(source)).toBe("XML_LIMIT");
  });

  test("the error of an XML document contains the line", () => {
    expect(() => readXml("<a>\n\n<b></c>\n</a>")).toThrow(
      "invalid XML at line 3: </c> does not match the open element",
    );
  });
});

describe("accepted documents", () => {
  test("XML elements have names, namespaces, attributes, text and lines", () => {
    const root = readXml(
      '<?xml version="1.0"?>\n<x:a xmlns:x="urn:x" xmlns="urn:d" c="1 &amp; 2">\n<b d=\'"\'>t&#x20;<![CDATA[<&>]]><!-- no --></b></x:a>',
    );
    expect([root.name, root.namespace, root.attributes.get("c"), root.line]).toEqual(["a", "urn:x", "1 & 2", 2]);
    const [b] = root.children;
    expect([b?.name, b?.namespace, b?.attributes.get("d"), b?.text, b?.line]).toEqual(["b", "urn:d", '"', "t <&>", 3]);
    expect(root.prefixes.get("x")).toBe("urn:x");
  });

  test("XML bytes are decoded by byte order mark, by declaration, otherwise as UTF-8", () => {
    expect(readXml(new TextEncoder().encode("<a>ü</a>")).text).toBe("ü");
    expect(readXml(Buffer.from("\uFEFF<a>ü</a>", "utf16le")).text).toBe("ü");
    expect(readXml(Buffer.from('<?xml version="1.0" encoding="ISO-8859-1"?><a>ü</a>', "latin1")).text).toBe("ü");
  });

  test("addresses in an XML document are not loaded", () => {
    const root = readXml(
      '<a xmlns:xsi="urn:i" xsi:schemaLocation="http://127.0.0.1:1/x"><xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd"/></a>',
    );
    expect(root.children[0]?.attributes.get("href")).toBe("file:///etc/passwd");
  });

  test("an XML document in one line is read in one pass", () => {
    const root = readXml(`<a>${'<b c="1"/>'.repeat(99_000)}</a>`);
    expect([root.children.length, root.children.at(-1)?.line]).toEqual([99_000, 1]);
  });
});
