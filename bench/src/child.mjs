/**
 * One measurement in a process of its own: the parent names a module and what to give it, and gets back what it measured.
 */

// Whatever it has started ends with it, and it ends with its parent.
for (const event of ["SIGINT", "SIGTERM", "disconnect"]) process.on(event, () => process.exit(1));

const { module, options } = JSON.parse(process.argv[2]);
const { measure } = await import(`./${module}.mjs`);
const result = await measure(options);
process.send?.(result, () => process.exit(0));
