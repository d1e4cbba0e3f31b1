import { isCode, isTest } from "./sources.mjs";

/**
 * Finds registry addresses, paths of one host, and comments that switch a check off.
 *
 * @import { Finding, Source } from "./sources.mjs"
 */

/** A home or working folder at the start of a word. The same letters inside a longer path or an address are no finding. */
const HOST_PATH = /(?<![\w.:/-])(?:\/(?:home|root|Users|work)\/\w|[A-Z]:\\Users\\)/;

const SUPPRESSION = /(?:biome|eslint|prettier)-(?:ignore|disable)|@ts-(?:ignore|nocheck)/;

/** @param {readonly Source[]} sources @returns {readonly Finding[]} */
export function trackedFindings(sources) {
  return sources.filter(({ text }) => !text.includes("\0")).flatMap((source) => findingsIn(source));
}

/** @param {Source} source @returns {readonly Finding[]} */
function findingsIn({ path, text }) {
  return text
    .split("\n")
    .flatMap((line, index) => reasons(path, line).map((reason) => ({ path, line: index + 1, text: reason })));
}

/** @param {string} path @param {string} line @returns {readonly string[]} */
function reasons(path, line) {
  const found = [];
  if (HOST_PATH.test(line)) found.push("contains a path of one host");
  if (path.endsWith("package-lock.json") && line.includes('"resolved": "http')) {
    found.push("contains the address of a registry; install with omit-lockfile-registry-resolved");
  }
  if (isCode(path) && !isTest(path) && SUPPRESSION.test(line) && path !== "scripts/tracked.mjs") {
    found.push("switches a check off; the checks have no exceptions");
  }
  return found;
}
