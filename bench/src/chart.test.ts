import { describe, expect, it } from "vitest";
import { chart } from "./chart.mjs";
import { atLeast, atMost, figure, figureOf, summarize } from "./figure.mjs";

const LONG =
  "a name that is far too long for its column, with 1,000 in flight, <on> one server & another, on a busy host";

/** @param rates The rate of each round. */
const rate = (name: string, ...rates: number[]): object[] => rates.map((value) => figure(name, value, "count"));

function drawn(lines: readonly object[][]): string {
  const rounds = lines[0]?.map((_, round) => lines.map((line) => line[round])) ?? [];
  const figures = summarize(rounds);
  const of = (store: string, name: string): object => ({ store, name, title: `${name} ${LONG}`, figures });
  return chart({ machine: `Node, <here> ${LONG} ${LONG}`, summaries: [of("sqlite", "W1"), of("postgres", "B1")] });
}

const PICTURE = drawn([
  rate("raw rows/s in batches", 100_000, 120_000),
  rate("pawl steps/s, 1,000 in flight", 60_000, 30_000),
  [0.3, 0.4].map((value) => figure("  ÷ raw", value, "ratio", atLeast(0.25, 0.5))),
  rate("Peer steps/s, 100 in flight", 600, 100),
  rate("Peer steps/s, 1,000 in flight", 300, 500),
  ["it broke", "again"].map((failure) => figureOf({ failure: `${failure} ${LONG}` }, "Broken jobs/s", null, "count")),
  [1, 2].map((value) => figure(LONG, value, "ms", atMost(3, 1))),
]);

interface Text {
  readonly text: string;
  readonly x: number;
  readonly y: number;
  readonly size: number;
  readonly anchor: string;
}

function textsOf(svg: string): readonly Text[] {
  return [...svg.matchAll(/<text x="([\d.-]+)" y="([\d.-]+)" font-size="(\d+)"([^>]*)>([^<]*)<\/text>/g)].map(
    ([, x, y, size, rest = "", text = ""]) => ({
      text: text.replaceAll("&lt;", "<").replaceAll("&gt;", ">").replaceAll("&amp;", "&"),
      x: Number(x),
      y: Number(y),
      size: Number(size),
      anchor: /text-anchor="(\w+)"/.exec(rest)?.[1] ?? "start",
    }),
  );
}

/** The left and right end of a text in the widest common font. */
function spanOf({ text, x, size, anchor }: Text): readonly [number, number] {
  const width = [...text].length * size * 0.6;
  const start = anchor === "start" ? x : anchor === "end" ? x - width : x - width / 2;
  return [start, start + width];
}

/** The first tag that is not closed correctly, or the first unescaped text. Null if the document is well-formed. */
function unbalanced(svg: string): string | null {
  const open: string[] = [];
  for (const [all, end, name = "", rest = ""] of svg.matchAll(
    /<(\/?)([a-z]+)((?:\s[a-z0-9-:]+="[^"<]*")*\s*\/?)>|[<>]|&(?!(?:amp|lt|gt);)/gi,
  )) {
    if (name === "") return all;
    if (end === "/") {
      if (open.pop() !== name) return name;
    } else if (!rest.endsWith("/")) open.push(name);
  }
  return open.pop() ?? null;
}

describe("chart", () => {
  it("a chart is well-formed XML with any names", () => {
    expect(unbalanced(PICTURE)).toBeNull();
    expect(unbalanced(PICTURE.replace("</title>", ""))).not.toBeNull();
    expect(textsOf(PICTURE).length).toBe([...PICTURE.matchAll(/<text /g)].length);
  });

  it("every text of a chart is inside of it, and no text overlaps another column", () => {
    const [, width, height] = /viewBox="0 0 (\d+) (\d+)"/.exec(PICTURE) ?? [];
    for (const text of textsOf(PICTURE)) {
      const [start, end] = spanOf(text);
      expect({ text, inside: start >= 0 && end <= Number(width) }).toEqual({ text, inside: true });
      expect({ text, inside: text.y > text.size * 0.8 && text.y < Number(height) }).toEqual({ text, inside: true });
    }
    for (const row of linesOf(textsOf(PICTURE))) {
      for (const [index, text] of row.entries()) {
        const before = row[index - 1];
        if (before === undefined) continue;
        expect({ before: before.text, text: text.text, apart: spanOf(before)[1] <= spanOf(text)[0] }).toMatchObject({
          apart: true,
        });
      }
    }
  });

  it("a chart shows the goals of a figure with the name of its line", () => {
    const texts = textsOf(PICTURE).map(({ text }) => text);
    expect(texts).toContain("W1 pawl steps/s, 1,000 in flight, ÷ raw");
    expect(texts).toContain("0.350");
    expect(texts).toContain("≥ 0.250 ✓");
    expect(texts).toContain("≥ 0.500 ✗");
  });

  it("a chart has one bar per peer, for its better setting, with the median of the ratios of all rounds", () => {
    const texts = textsOf(PICTURE).map(({ text }) => text);
    expect(texts).toContain("Peer, 1,000 in flight");
    expect(texts).not.toContain("Peer, 100 in flight");
    // 60,000 ÷ 600 and 30,000 ÷ 500; 60,000 ÷ 100,000 and 30,000 ÷ 120,000.
    expect(texts).toContain("80");
    expect(texts).toContain("0.42");
  });

  it("a chart marks failed measurements", () => {
    expect(textsOf(PICTURE).some(({ text }) => text.startsWith("failed: it broke"))).toBe(true);
  });
});

/** The texts of each line, from left to right. */
function linesOf(texts: readonly Text[]): readonly Text[][] {
  const lines = new Map<number, Text[]>();
  for (const text of texts) lines.set(text.y, [...(lines.get(text.y) ?? []), text]);
  return [...lines.values()].map((line) => line.toSorted((one, other) => spanOf(one)[0] - spanOf(other)[0]));
}
