import { freshId } from "../runtime/fresh-id.ts";
import { systemNow } from "../runtime/system-now.ts";
import { checkForms } from "./forms.ts";
import { type TaskOptions, Tasks } from "./tasks.ts";

/**
 * The human tasks of a store, for processes that have an engine and for those that have only a client.
 *
 * ```ts
 * const tasks = humanTasks({ engine: await createClient({ store }) });
 * await tasks.claim("r-1 approve/task", "ann", { groups: ["sales"] });
 * ```
 */
export function humanTasks({ engine, forms = {}, now = systemNow, newId = freshId }: TaskOptions): Tasks {
  checkForms(forms);
  return new Tasks({ engine, forms, now, newId });
}
