import { spawn, spawnSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rolldown } from "rolldown";
import { ROOT } from "./sources.mjs";

/** Bundles a script for browsers and executes it in Chromium. */

const CHROMIUM = ["chromium", "chromium-browser", "google-chrome"];
const RESULTS_MS_MAX = 60_000;

/** The installed browser, or the one that `PAWL_CHROMIUM` names. Null if there is none. @returns {string | null} */
export function findChromium() {
  const names = process.env.PAWL_CHROMIUM === undefined ? CHROMIUM : [process.env.PAWL_CHROMIUM];
  return names.find((name) => spawnSync(name, ["--version"]).status === 0) ?? null;
}

/**
 * @param {string} entry A path from the root.
 * @returns {Promise<{ code: string, modules: readonly string[], outside: readonly string[] }>} `outside` lists
 *   the modules that the bundle still imports, such as modules of Node.
 */
export async function bundleForBrowser(entry) {
  const source = (/** @type {string} */ path) => join(ROOT, "packages", "core", "src", path);
  const bundle = await rolldown({
    input: join(ROOT, entry),
    platform: "browser",
    external: /^node:/,
    resolve: { alias: { "pawl/host": source("host/index.ts"), pawl: source("index.ts") } },
  });
  const { output } = await bundle.generate({ format: "esm" });
  await bundle.close();
  const [chunk] = output;
  return {
    code: chunk.code,
    modules: Object.keys(chunk.modules),
    outside: [...chunk.imports, ...chunk.dynamicImports],
  };
}

/**
 * Opens a page that executes the code. Returns the first `count` messages of the page and its workers.
 *
 * @param {string} chromium
 * @param {string} code
 * @param {number} count
 * @returns {Promise<readonly unknown[]>}
 */
export async function runInBrowser(chromium, code, count) {
  const folder = mkdtempSync(join(tmpdir(), "pawl-chromium-"));
  /** @type {(results: readonly unknown[]) => void} */
  let done = () => undefined;
  const all = new Promise((/** @type {(results: readonly unknown[]) => void} */ resolve) => {
    done = resolve;
  });
  const server = serve(code, count, done);
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(null)));
  const address = server.address();
  const port = typeof address === "object" ? address?.port : 0;
  const browser = spawn(chromium, [...FLAGS, `--user-data-dir=${folder}`, `http://127.0.0.1:${port}/`], {
    stdio: ["ignore", "ignore", "pipe"],
    // A separate process group, so that the kill below includes its child processes.
    detached: true,
  });
  let errors = "";
  browser.stderr.setEncoding("utf8").on("data", (text) => {
    errors += text;
  });
  const late = new Promise((_, reject) => {
    setTimeout(
      () => reject(new Error(`the browser sent no results within ${RESULTS_MS_MAX} ms:\n${errors}`)),
      RESULTS_MS_MAX,
    ).unref();
  });
  const exited = new Promise((resolve) => browser.on("exit", resolve));
  try {
    return /** @type {readonly unknown[]} */ (await Promise.race([all, late]));
  } finally {
    if (browser.pid !== undefined) process.kill(-browser.pid, "SIGKILL");
    await exited;
    browser.stderr.destroy();
    server.closeAllConnections();
    server.close();
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
  }
}

const FLAGS = [
  "--headless",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/** @param {string} code @param {number} count @param {(results: readonly unknown[]) => void} done */
function serve(code, count, done) {
  /** @type {unknown[]} */
  const results = [];
  return createServer((request, response) => {
    if (request.url === "/bundle.js") {
      response.setHeader("content-type", "text/javascript").end(code);
    } else if (request.url === "/results") {
      let body = "";
      request.setEncoding("utf8").on("data", (text) => {
        body += text;
      });
      request.on("end", () => {
        response.end();
        results.push(JSON.parse(body));
        if (results.length === count) done(results);
      });
    } else {
      response.setHeader("content-type", "text/html").end('<script type="module" src="/bundle.js"></script>');
    }
  });
}
