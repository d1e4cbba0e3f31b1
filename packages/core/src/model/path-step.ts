/** One step of a path into a value, as in code: `.name`, `[3]`, `["a b"]`. */
export function pathStep(key: PropertyKey): string {
  if (typeof key === "number") return `[${key}]`;
  const name = String(key);
  return /^[A-Za-z_$][\w$]*$/.test(name) ? `.${name}` : `[${JSON.stringify(name)}]`;
}
