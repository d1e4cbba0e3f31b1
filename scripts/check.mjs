import { architectureFindings } from "./architecture.mjs";
import { luaFindings } from "./embed-lua.mjs";
import { fragmentFindings, nameFindings, titleFindings, topFindings } from "./readability.mjs";
import { isCode, printed, readSources, repositoryPaths } from "./sources.mjs";
import { trackedFindings } from "./tracked.mjs";
import { worldFindings } from "./world.mjs";

/** The command of `npm run check` for the checks that the formatter, the linter and the compiler do not have. */

const sources = readSources(repositoryPaths());
const code = sources.filter(({ path }) => isCode(path));
const findings = [
  ...architectureFindings(code),
  ...worldFindings(code),
  ...trackedFindings(sources),
  ...luaFindings(),
  ...nameFindings(code),
  ...topFindings(code),
  ...fragmentFindings(code),
  ...titleFindings(code),
];

for (const finding of findings) console.error(printed(finding));
console.log(`${sources.length} files checked, ${findings.length} findings`);
if (findings.length > 0) process.exitCode = 1;
