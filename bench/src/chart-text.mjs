/** Text in a chart: its width, and its SVG element. */

/** The maximum average width of a letter in common sans-serif fonts, relative to the font size. */
const LETTER = 0.6;

/** @param {string} text @param {number} size In pixels. */
export function widthOf(text, size) {
  return [...text].length * size * LETTER;
}

/** The text, cut to the width. @param {string} text @param {number} size @param {number} width */
export function fitted(text, size, width) {
  if (widthOf(text, size) <= width) return text;
  return `${[...text]
    .slice(0, Math.floor(width / (size * LETTER)) - 1)
    .join("")
    .trimEnd()}…`;
}

/**
 * @param {string} text
 * @param {{ x: number, y: number, size?: number, kind?: string, anchor?: "start" | "middle" | "end" }} where
 */
export function written(text, { x, y, size = 13, kind = "ink", anchor = "start" }) {
  const anchored = anchor === "start" ? "" : ` text-anchor="${anchor}"`;
  return `<text x="${rounded(x)}" y="${rounded(y)}" font-size="${size}" class="${kind}"${anchored}>${escaped(text)}</text>`;
}

/** @param {number} value */
export function rounded(value) {
  return Number(value.toFixed(1));
}

/** @param {string} text */
function escaped(text) {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
