import type { Node, UnaryTests } from "./ast.ts";
import { BUILTINS } from "./builtins/table.ts";

/**
 * The functions that an expression calls and that nothing can define: neither built in, nor `known`, nor a name that the
 * expression binds. Variables are JSON, so a variable is never a function.
 */
export function unknownCalls(root: Node | UnaryTests, known: ReadonlySet<string>): readonly string[] {
  const called = new Set<string>();
  const bound = new Set<string>();
  const waiting: unknown[] = [root];
  for (let part = waiting.pop(); part !== undefined; part = waiting.pop()) {
    if (typeof part !== "object" || part === null) continue;
    const { kind, name, callee } = part as { readonly kind?: string; readonly name?: unknown; readonly callee?: Node };
    if (callee?.kind === "name") called.add(callee.name);
    // Parameters, iteration variables and context entries have a name, and are no nodes.
    if (kind === undefined && typeof name === "string") bound.add(name);
    if (kind !== "literal") waiting.push(...Object.values(part).filter((value) => value !== undefined));
  }
  return [...called].filter((name) => !BUILTINS.has(name) && !known.has(name) && !bound.has(name));
}
