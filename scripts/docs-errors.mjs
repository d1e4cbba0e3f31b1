import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { ERRORS } from "pawl";
import { ERRORS_PAGE, errorsPage } from "./errors-page.mjs";
import { ROOT } from "./sources.mjs";

/** Writes docs/errors.md from the error catalog of the built core. */
writeFileSync(join(ROOT, ERRORS_PAGE), errorsPage(ERRORS));
console.log(`${ERRORS_PAGE}: ${Object.keys(ERRORS).length} codes`);
