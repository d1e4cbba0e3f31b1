import { humanTaskOf } from "../model/human-task.ts";
import type { Expression, Process } from "../model/process.ts";

/** Every expression of a process that is computed, with the element or flow that holds it. */
export function* expressionsOf(process: Process): Generator<readonly [string, Expression]> {
  for (const holder of [...process.elements.values(), ...process.flows.values()]) {
    const waiting: unknown[] = [holder];
    if ("type" in holder && holder.type === "userTask") waiting.push(humanTaskOf(holder));
    for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
      if (typeof value !== "object" || value === null) continue;
      if (isExpression(value)) yield [holder.id, value];
      else waiting.push(...Object.values(value).filter((each) => each !== undefined));
    }
  }
}

function isExpression(value: object): value is Expression {
  return "isStatic" in value && "text" in value && value.isStatic === false;
}
