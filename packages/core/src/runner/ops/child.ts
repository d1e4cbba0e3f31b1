import { parseDuration } from "../../model/duration.ts";
import { PawlError } from "../../model/errors.ts";
import { toFailure } from "../../model/failure.ts";
import { checkTarget, childRunId } from "../../model/names.ts";
import { kinds, type OptionKinds, optionTable, readArgument, readOptions } from "../../model/option-check.ts";
import type { ParentClosePolicy } from "../../model/run.ts";
import { checkSchema } from "../../model/schema.ts";
import { LIMIT_KINDS, limitsOfStart } from "../../model/start-limits.ts";
import type { Post } from "../../model/transition.ts";
import type { Arm } from "../../workflow/command.ts";
import type { ChildHandle, ChildOptions, WorkflowDeclaration } from "../../workflow/ctx.ts";
import { checkDeclaration } from "../../workflow/workflow.ts";
import { generationId, postId } from "../program-posts.ts";
import { type StartedChild, startedRunId } from "../started-child.ts";
import { type Branch, checkNotInStep, completionValue, issue, locate, perform } from "./branch.ts";
import { TIMED_OUT, waitCommand } from "./wait.ts";

/** Locations of children by handle. */
const locations = new WeakMap<object, string>();

export function childArm(handle: ChildHandle<unknown>, as: string): Arm {
  return { kind: "child", location: childLocation(handle), child: handle.runId, as };
}

function childLocation(handle: ChildHandle<unknown>): string {
  const location = locations.get(handle);
  if (location === undefined)
    throw new PawlError("OPTION_INVALID", "invalid child arm: pass a handle that ctx.startChild returned in this run");
  return location;
}

const CHILD_KINDS = {
  name: kinds.name,
  onParentClose: kinds.oneOf("cancel", "abandon"),
  tags: kinds.tags,
  delay: kinds.duration,
  ...LIMIT_KINDS,
} as const satisfies OptionKinds<ChildOptions>;

type AwaitedChildOptions = ChildOptions & { readonly propagateFailure?: boolean };

const CHILD_OPTIONS = optionTable<ChildOptions>("startChild", CHILD_KINDS);
const AWAITED_CHILD_OPTIONS = optionTable<AwaitedChildOptions>("child", {
  ...CHILD_KINDS,
  propagateFailure: kinds.flag,
});

/**
 * Starts a child. Its id is a function of parent and location, so a start repeated after a crash is the same child. `onClose` is the
 * default of `onParentClose`: a child that the code only starts is independent of it.
 */
export function startChild<Input, Output>(
  branch: Branch,
  workflow: WorkflowDeclaration<Input, Output>,
  input: Input,
  options?: ChildOptions,
  onClose: ParentClosePolicy = "abandon",
): Promise<ChildHandle<Output>> {
  const { host, settings } = branch;
  let location = "";
  return perform(
    branch,
    (settle) => {
      const declared = checkDeclaration(workflow);
      const {
        name = declared.name,
        onParentClose = onClose,
        tags = [],
        delay = 0,
        ...limits
      } = readOptions(CHILD_OPTIONS, options);
      const { input: schema } = declared.options;
      const checked = schema === undefined ? input : checkSchema(schema, input, `input of child ${name}`);
      const payload = settings.codec.encode(checked, `input of child ${name}`);
      location = locate(branch, name);
      const id = childRunId(generationId(host), location);
      if (onParentClose !== "abandon") branch.cancellation?.childStarted(location, id);
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
            workflow: declared.name,
            version: declared.version,
            input: payload,
            tags,
            parent: { runId: host.runId, location, onClose: onParentClose },
            createdAt: at,
            startId: id,
            owner: null,
            ...limitsOfStart(limits, { at, startAt: at + parseDuration(delay, "delay") }, host.run),
          },
        },
        value: {
          runId: id,
          workflow: declared.name,
          ...(onParentClose === "abandon" ? { abandoned: true } : {}),
        } satisfies StartedChild,
        detail: id,
        settle,
      };
    },
    (completion) => childHandle<Output>(branch, startedRunId(completionValue(completion)), location),
  );
}

export async function child<Input, Output>(
  branch: Branch,
  workflow: WorkflowDeclaration<Input, Output>,
  input: Input,
  given?: AwaitedChildOptions,
): Promise<Output | undefined> {
  const { propagateFailure, ...options } = readOptions(AWAITED_CHILD_OPTIONS, given);
  const handle = await startChild(branch, workflow, input, options, "cancel");
  if (propagateFailure ?? branch.settings.propagateChildFailures) return await handle.result();
  return await handle.result().catch(() => undefined);
}

const REASON = kinds.optional(kinds.text);

/** Requests the cancel of any run. */
export function cancel(branch: Branch, runId: string, reason?: string): Promise<void> {
  return requestCancel(branch, runId, reason, () => locate(branch, "cancel"));
}

function requestCancel(
  branch: Branch,
  runId: string,
  given: string | undefined,
  locateCancel: () => string,
): Promise<void> {
  const { host, settings } = branch;
  return perform(
    branch,
    (settle) => {
      const to = checkTarget(runId);
      const reason = readArgument(REASON, given, "reason") ?? `run ${to} was cancelled by run ${host.runId}`;
      const location = locateCancel();
      const at = host.now();
      return {
        kind: "post",
        record: "cancel",
        location,
        issuedAt: at,
        post: {
          kind: "cancel",
          to,
          id: postId(host, location),
          reason: settings.codec.encode(toFailure(new PawlError("RUN_CANCELLED", reason)), "reason"),
          at,
        },
        value: undefined,
        detail: to,
        settle,
      };
    },
    () => undefined,
  );
}

/** Requests the cancel of a child whose branch was cancelled. */
export function cancelChild(branch: Branch, location: string, runId: string, reason: Error): void {
  const { host, settings } = branch;
  const at = host.now();
  const post: Post = {
    kind: "cancel",
    to: runId,
    id: `lost:${host.runId}`,
    reason: settings.codec.encode(toFailure(reason), "reason"),
    at,
  };
  issue(branch, {
    kind: "post",
    record: "cancel",
    location: `${location}/~cancel`,
    issuedAt: at,
    post,
    value: undefined,
    detail: runId,
    settle: () => undefined,
  });
}

function childHandle<Output>(branch: Branch, runId: string, location: string): ChildHandle<Output> {
  let result: Promise<Output> | null = null;
  let cancelled: Promise<void> | null = null;
  const handle: ChildHandle<Output> = {
    runId,
    result() {
      result ??= perform(
        branch,
        (settle) => ({
          ...waitCommand(branch, settle, {
            record: "child",
            name: "result",
            arms: [{ kind: "child", location, child: runId, as: "child" }],
            until: null,
            atDeadline: TIMED_OUT,
          }),
          location: `${location}/result`,
        }),
        (completion) => {
          branch.cancellation?.childEnded(location);
          return completionValue(completion) as Output;
        },
      );
      return result;
    },
    cancel(reason) {
      cancelled ??= requestCancel(branch, runId, reason, () => {
        checkNotInStep(branch, "cancel");
        return `${location}/cancel`;
      });
      return cancelled;
    },
  };
  locations.set(handle, location);
  return handle;
}

/** Ends this generation. The returned promise never settles. */
export function continueAs(branch: Branch, workflow: WorkflowDeclaration, input: unknown): Promise<never> {
  return new Promise(() => {
    checkNotInStep(branch, "continueAs");
    if (branch.cancellation?.isCancelled) return;
    const { name, version, options } = checkDeclaration(workflow);
    const { input: schema } = options;
    const checked = schema === undefined ? input : checkSchema(schema, input, `input of ${name}`);
    branch.host.finish({ kind: "continued", workflow: name, version, input: checked });
  });
}
