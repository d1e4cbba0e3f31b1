import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * @typedef {object} Source A file of the repository; `path` is relative to its root, with `/`.
 * @property {string} path
 * @property {string} text
 *
 * @typedef {object} Finding A violation that a check has found.
 * @property {string} path
 * @property {number} line
 * @property {string} text
 */

export const ROOT = fileURLToPath(new URL("../", import.meta.url));

/** All files of the repository that git does not ignore, including files that are not added yet. */
export function repositoryPaths() {
  const listed = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard", "-z"], {
    cwd: ROOT,
    encoding: "utf8",
    maxBuffer: 2 ** 26,
  });
  return listed.split("\0").filter((path) => path !== "" && existsSync(join(ROOT, path)));
}

/** @param {readonly string[]} paths @returns {readonly Source[]} */
export function readSources(paths) {
  return paths.map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));
}

/** @param {string} path */
export function isCode(path) {
  return /\.(?:ts|mjs)$/.test(path);
}

/** @param {string} path */
export function isTest(path) {
  return /\.test(?:-d)?\.ts$/.test(path);
}

/** @param {Finding} finding */
export function printed(finding) {
  return `${finding.path}:${finding.line} ${finding.text}`;
}
