import { type Model, modelIn, modelsIn, tagOf, textIn } from "./moddle.ts";

/** One entry of a list of performers: `user(ann)`, `group(sales)`, or a name alone, which is a group. */
const ENTRY = /^(?:(user|group)\(([^()]*)\)|(.+))$/;

/**
 * The people of a user task, as the standard writes them, as properties. A human performer is the assignee. Potential owners, and
 * performers without a more exact role, are candidates.
 */
export function performersOf(model: Model): Readonly<Record<string, string>> {
  const users: string[] = [];
  const groups: string[] = [];
  let assignee: string | null = null;
  for (const role of modelsIn(model, "resources")) {
    const text = textOf(role);
    if (text === null) continue;
    if (tagOf(role) === "humanPerformer") {
      assignee ??= text;
      continue;
    }
    for (const [kind, name] of entriesOf(text)) (kind === "user" ? users : groups).push(name);
  }
  return {
    ...(assignee !== null && { assignee }),
    ...(users.length > 0 && { candidateUsers: users.join(",") }),
    ...(groups.length > 0 && { candidateGroups: groups.join(",") }),
  };
}

/** An assignment expression, otherwise the name of the referenced resource. */
function textOf(role: Model): string | null {
  const expression = modelIn(modelIn(role, "resourceAssignmentExpression"), "expression");
  const resource = modelIn(role, "resourceRef");
  return textIn(expression, "body")?.trim() ?? textIn(resource, "name") ?? resource?.id ?? textIn(role, "name");
}

/** A whole expression is one entry; its value may be a list. */
function entriesOf(text: string): ReadonlyArray<readonly ["user" | "group", string]> {
  if (text.startsWith("=")) return [["group", text]];
  return text.split(",").flatMap((each): ReadonlyArray<readonly ["user" | "group", string]> => {
    const [, kind, inside, alone] = ENTRY.exec(each.trim()) ?? [];
    const name = (inside ?? alone ?? "").trim();
    return name === "" ? [] : [[kind === "user" ? "user" : "group", name]];
  });
}
