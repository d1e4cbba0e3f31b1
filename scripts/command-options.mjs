import { parseArgs } from "node:util";

/**
 * Reads the options of a command. Each option is an integer above 0, or one of a few words. An invalid option prints the error and
 * the usage, and exits with 2. `--help` prints the usage and exits with 0.
 *
 * @template {Record<string, number | readonly [string, ...string[]]>} Known
 * @param {string} usage
 * @param {Known} known Each option with its default number, or with its allowed words, of which the first is the default.
 * @param {readonly string[]} [args]
 * @returns {{ [Name in keyof Known]: Known[Name] extends number ? number : string }}
 */
export function readCommandOptions(usage, known, args = process.argv.slice(2)) {
  /** @type {Record<string, { type: "string" }>} */
  const options = Object.fromEntries(Object.keys(known).map((name) => [name, { type: "string" }]));
  try {
    const { help, ...values } = parseArgs({
      args: [...args],
      options: { ...options, help: { type: "boolean" } },
    }).values;
    if (help === true) {
      console.log(usage);
      process.exit(0);
    }
    const given = new Map(Object.entries(values));
    const read = Object.entries(known).map(([name, fallback]) => [name, readValue(name, given.get(name), fallback)]);
    return Object.fromEntries(read);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${usage}`);
    process.exit(2);
  }
}

/** @param {string} name @param {unknown} text @param {number | readonly [string, ...string[]]} fallback */
function readValue(name, text, fallback) {
  if (typeof fallback === "number") {
    const number = text === undefined ? fallback : Number(text);
    if (Number.isSafeInteger(number) && number > 0) return number;
    throw new Error(`--${name} must be an integer above 0; got ${text}`);
  }
  const word = text ?? fallback[0];
  if (fallback.includes(/** @type {string} */ (word))) return word;
  throw new Error(`--${name} must be one of ${fallback.join(", ")}; got ${text}`);
}
