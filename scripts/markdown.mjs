/**
 * @typedef {object} Block A fenced block of a page.
 * @property {string} language The first word after the fence.
 * @property {readonly string[]} words The words after it.
 * @property {number} line The line of the opening fence, from 1.
 * @property {readonly string[]} lines The lines between the fences, without the indentation of the fence.
 */

const FENCE = /^(\s*)(`{3,}|~{3,})\s*([^`]*)$/;

/** @param {string} text @returns {readonly Block[]} */
export function fencedBlocks(text) {
  /** @type {Block[]} */
  const blocks = [];
  /** @type {{ indent: string, fence: string, block: Block, lines: string[] } | null} */
  let open = null;
  for (const [index, line] of text.split(/\r?\n/).entries()) {
    const [, indent = "", fence = "", info = ""] = FENCE.exec(line) ?? [];
    if (open === null) {
      if (fence === "") continue;
      const [language = "", ...words] = info.trim().split(/\s+/);
      /** @type {string[]} */
      const lines = [];
      open = { indent, fence, block: { language, words, line: index + 1, lines }, lines };
    } else if (fence.startsWith(open.fence) && info.trim() === "") {
      blocks.push(open.block);
      open = null;
    } else {
      open.lines.push(line.startsWith(open.indent) ? line.slice(open.indent.length) : line.trimStart());
    }
  }
  if (open !== null) throw new Error(`line ${open.block.line}: the block has no closing fence`);
  return blocks;
}
