import type { Activity, Block, Condition, Ended, Handler, Many, Scope, Thrown, Trigger } from "./block.ts";

/** The tree as readable text. */
export function textOf(scope: Scope): string {
  return scopeLines(scope).join("\n");
}

function scopeLines({ id, body, handlers }: Scope): readonly string[] {
  return [`scope ${id}`, ...indented(blockLines(body)), ...handlers.flatMap((each) => indented(handlerLines(each)))];
}

function handlerLines({ start, on, interrupts, inside }: Handler): readonly string[] {
  return [`on ${triggerName(on)} (${start}${interrupts ? ", interrupts" : ""})`, ...indented(scopeLines(inside))];
}

function indented(lines: readonly string[]): readonly string[] {
  return lines.map((line) => `  ${line}`);
}

function blockLines(block: Block): readonly string[] {
  switch (block.kind) {
    case "seq":
      return block.blocks.length === 0 ? ["nothing"] : block.blocks.flatMap(blockLines);
    case "activity":
      return activityLines(block);
    case "catch":
      return [`wait ${block.id} for ${triggerName(block.on)}`];
    case "throw":
      return [`throw ${block.id} ${thrownName(block.thrown)}`];
    case "end":
      return [`end ${block.id} ${thrownName(block.thrown)}`];
    case "link":
      return [`link ${block.id}`];
    case "repeat":
      return [`repeat ${block.id} while ${conditionName(block.again)}`, ...indented(blockLines(block.body))];
    case "fork":
      return [
        `${block.gateway} ${block.id}${block.gateway === "complex" ? ` until ${block.enough}` : ""}`,
        ...block.branches.flatMap(({ when, body }) =>
          indented([`- ${typeof when === "string" ? when : conditionName(when)}`, ...indented(blockLines(body))]),
        ),
      ];
    case "race":
      return [
        `first of ${block.id}`,
        ...block.branches.flatMap(({ id, on, body }) =>
          indented([`- ${id} ${triggerName(on)}`, ...indented(blockLines(body))]),
        ),
      ];
  }
}

function activityLines({ id, does, boundaryEvents, many, undo }: Activity): readonly string[] {
  const name = does.kind === "sub" ? (does.isTransaction ? "transaction" : "sub") : does.kind;
  const more = `${many === null ? "" : ` ${manyName(many)}`}${undo === null ? "" : `, compensated by ${undo}`}`;
  const inside = does.kind === "sub" ? indented(scopeLines(does.scope)) : [];
  const on = boundaryEvents.flatMap((boundary) => [
    `! ${boundary.id} ${triggerName(boundary.on)}${boundary.interrupts ? ", interrupts" : ""}${boundary.rejoins ? ", rejoins" : ""}`,
    ...indented(blockLines(boundary.path)),
  ]);
  return [`${name} ${id}${more}`, ...inside, ...indented(on)];
}

function manyName(many: Many): string {
  if (many.kind === "loop") {
    const until = many.max === null ? "" : `, at most ${many.max}`;
    return `in a loop while ${conditionName(many.continues)}${many.testBefore ? " (tested before)" : ""}${until}`;
  }
  return `${many.kind} x ${many.count}${many.enough === null ? "" : `, ${many.enough} enough`}${many.collects ? ", collected" : ""}`;
}

function triggerName(on: Trigger): string {
  switch (on.kind) {
    case "timer":
      return `timer ${on.minutes}m${on.times === null ? "" : ` x ${on.times}`}`;
    case "signal":
      return `signal ${on.name}`;
    case "condition":
      return conditionName(on.when);
    case "error":
    case "escalation":
      return `${on.kind} ${on.code ?? "any"}`;
    case "message":
    case "cancel":
      return on.kind;
  }
}

function thrownName(thrown: Thrown | Ended): string {
  if ("code" in thrown) return `${thrown.kind} ${thrown.code}`;
  if (thrown.kind === "signal") return `signal ${thrown.name}`;
  return thrown.kind === "compensation" ? `compensation of ${thrown.of ?? "all"}` : thrown.kind;
}

function conditionName({ variable, over }: Condition): string {
  return `${variable} > ${over}`;
}
