import { posix } from "node:path";
import { fencedBlocks } from "./markdown.mjs";

/**
 * Checks that links of pages lead to existing files and headings of the repository.
 *
 * @import { Finding, Source } from "./sources.mjs"
 */

const LINK = /\]\(([^)\s]+)\)/g;

/**
 * @param {readonly Source[]} pages All Markdown files.
 * @param {ReadonlySet<string>} paths All files and folders.
 * @returns {readonly Finding[]}
 */
export function linkFindings(pages, paths) {
  const texts = new Map(pages.map(({ path, text }) => [path, text]));
  return pages.flatMap(({ path, text }) =>
    linksOf(text).flatMap(({ target, line }) => {
      const reason = brokenReason(path, target, paths, texts);
      return reason === null ? [] : [{ path, line, text: `links to ${target}: ${reason}` }];
    }),
  );
}

/** @param {string} text */
function linksOf(text) {
  const code = new Set(
    fencedBlocks(text).flatMap(({ line, lines }) =>
      Array.from({ length: lines.length }, (_, index) => line + 1 + index),
    ),
  );
  return text
    .split("\n")
    .flatMap((content, index) =>
      code.has(index + 1) ? [] : [...content.matchAll(LINK)].map(([, target = ""]) => ({ target, line: index + 1 })),
    );
}

/**
 * @param {string} from
 * @param {string} target
 * @param {ReadonlySet<string>} paths
 * @param {ReadonlyMap<string, string>} texts
 * @returns {string | null}
 */
function brokenReason(from, target, paths, texts) {
  if (/^[a-z]+:/.test(target)) return null;
  const [file = "", anchor] = target.split("#");
  const path = file === "" ? from : posix.join(posix.dirname(from), file);
  if (!paths.has(path.replace(/\/$/, ""))) return "file not found";
  if (anchor === undefined) return null;
  return anchorsOf(texts.get(path) ?? "").has(anchor) ? null : "heading not found";
}

/** The anchors of the headings: lower case, without punctuation, with dashes. @param {string} text */
function anchorsOf(text) {
  const headings = text.split("\n").filter((line) => /^#{1,6} /.test(line));
  return new Set(
    headings.map((line) =>
      line
        .replace(/^#+ /, "")
        .toLowerCase()
        .replace(/[^\p{L}\p{N} _-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}
