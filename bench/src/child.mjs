/**
 * One measurement in a process of its own: the parent names a module and what to give it, and gets back what it measured.
 */

const { module, options } = JSON.parse(process.argv[2]);
const { measure } = await import(`./${module}.mjs`);
const result = await measure(options);
process.send?.(result, () => process.exit(0));
