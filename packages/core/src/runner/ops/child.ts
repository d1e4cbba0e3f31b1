import { PawlError } from "../../model/errors.ts";
import { nextLocation } from "../../model/location.ts";
import { checkName, childRunId } from "../../model/names.ts";
import { checkSchema } from "../../model/schema.ts";
import type { ChildHandle, ChildOptions, Workflow } from "../../workflow/ctx.ts";
import { type Branch, issued, valueIn } from "./branch.ts";
import { waitCommand } from "./wait.ts";

/** Locations of children by the handles that workflows hold. */
const locations = new WeakMap<object, string>();

/** Where in its parent's journal a child was started. */
export function childLocation(handle: ChildHandle<unknown>): string {
  const location = locations.get(handle);
  if (location === undefined)
    throw new PawlError("OPTION_INVALID", "a child arm needs the handle that startChild gave to this run");
  return location;
}

/** The child's id is a function of parent and location: started again after a crash, it is the same child. */
export function startChild<Input, Output>(
  branch: Branch,
  workflow: Workflow<Input, Output>,
  input: Input,
  options: ChildOptions = {},
): Promise<ChildHandle<Output>> {
  const { host, settings } = branch;
  let location = "";
  return issued(
    branch,
    (settle) => {
      const name = checkName(options.name ?? workflow.name, "name of child");
      const checked =
        workflow.options.input === undefined
          ? input
          : checkSchema(workflow.options.input, input, `input of child ${name}`);
      location = nextLocation(branch.scope, name);
      const id = childRunId(generationId(branch), location);
      const at = host.now();
      return {
        kind: "post",
        record: "spawn",
        location,
        issuedAt: at,
        post: {
          kind: "start",
          run: {
            id,
            workflow: workflow.name,
            version: workflow.version,
            input: settings.codec.encode(checked, `input of child ${name}`),
            tags: options.tags ?? [],
            parent: { runId: host.runId, location, onClose: options.onParentClose ?? "cancel" },
            createdAt: at,
            startId: id,
            owner: null,
            startAt: at,
          },
        },
        value: id,
        detail: id,
        settle,
      };
    },
    (completion) => childHandle<Output>(branch, valueIn(completion) as string, location),
  );
}

export async function child<Input, Output>(
  branch: Branch,
  workflow: Workflow<Input, Output>,
  input: Input,
  options: ChildOptions & { readonly propagateFailure?: boolean } = {},
): Promise<Output | undefined> {
  const handle = await startChild(branch, workflow, input, options);
  if (options.propagateFailure ?? branch.settings.propagateChildFailures) return await handle.result();
  return await handle.result().catch(() => undefined);
}

/** Children of a later generation are others than those of an earlier one, at the same location. */
function generationId(branch: Branch): string {
  const { run } = branch.host;
  return run.generation === 0 ? run.id : `${run.id}//~${run.generation}`;
}

function childHandle<Output>(branch: Branch, runId: string, location: string): ChildHandle<Output> {
  let result: Promise<Output> | null = null;
  const handle: ChildHandle<Output> = {
    runId,
    result() {
      result ??= issued(
        branch,
        (settle) => ({
          ...waitCommand(branch, settle, {
            record: "child",
            name: "result",
            arms: [{ kind: "child", location, as: "child" }],
            until: null,
            atDeadline: { outcome: "timedOut", detail: null },
          }),
          location: `${location}/result`,
        }),
        (completion) => valueIn(completion) as Output,
      );
      return result;
    },
  };
  locations.set(handle, location);
  return handle;
}
