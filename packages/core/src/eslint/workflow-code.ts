import {
  isFunction,
  keyOf,
  type LintContext,
  type LintNode,
  type LintVariable,
  nameOf,
  nodeAt,
  nodesAt,
  unwrap,
  usageOf,
} from "./lint-node.ts";
import { declaredAs, functionOf, importOf, variableOf } from "./scopes.ts";

/**
 * The role of a function in a run.
 *
 * - `workflow`: its code is replayed.
 * - `branch`: its code is replayed, with a separate ctx.
 * - `step`: its code is not replayed and may do anything.
 * - `plain`: it has the role of the code around it.
 */
export type Role = "workflow" | "branch" | "step" | "plain";

/** A call of an operation of a ctx. */
export interface CtxCall {
  readonly node: LintNode;
  readonly operation: string;
  readonly args: readonly LintNode[];
  /** The ctx that the operation is called on. */
  readonly ctx: LintVariable;
}

const WITH_BODY = new Set(["step", "tryStep", "transaction"]);
const WITH_BRANCHES = new Set(["join", "race"]);

/** Finds the workflow code of a file, by calls of `workflow()` and by parameters of type `Ctx`. */
export class WorkflowCode {
  readonly #context: LintContext;
  readonly #roles = new Map<LintNode, Role>();

  constructor(context: LintContext) {
    this.#context = context;
  }

  /** Whether a run replays the code at this node: it is in a workflow and not in a step. */
  isReplayed(node: LintNode): boolean {
    return this.#around(node)?.role !== "step" && this.#around(node) !== null;
  }

  isInStep(node: LintNode): boolean {
    return this.#around(node)?.role === "step";
  }

  /** Returns the innermost function around a node that has its own ctx. Null if a step is in between. */
  scopeOf(node: LintNode): LintNode | null {
    const around = this.#around(node);
    return around === null || around.role === "step" ? null : around.fn;
  }

  /** Returns the ctx variable of an expression. Null if the expression is not a ctx. */
  ctxOf(expression: LintNode | null): LintVariable | null {
    const variable = variableOf(this.#context, unwrap(expression));
    const definition = variable?.defs[0];
    if (variable === null || definition?.type !== "Parameter") return null;
    const fn = definition.node;
    const place = nodesAt(fn, "params").findIndex((param) => nameOf(param) === variable.name);
    const param = nodesAt(fn, "params")[place];
    if (param === undefined) return null;
    if (isOfTypeCtx(param)) return variable;
    const role = this.roleOf(fn);
    return place === 0 && (role === "workflow" || role === "branch") ? variable : null;
  }

  /** Returns the function that has the ctx as a parameter. */
  ownerOf(ctx: LintVariable): LintNode | null {
    return ctx.defs[0]?.node ?? null;
  }

  callOf(node: LintNode): CtxCall | null {
    if (node.type !== "CallExpression") return null;
    const callee = unwrap(nodeAt(node, "callee"));
    if (callee?.type !== "MemberExpression") return null;
    const operation = keyOf(callee);
    const ctx = this.ctxOf(nodeAt(callee, "object"));
    return operation === null || ctx === null ? null : { node, operation, args: nodesAt(node, "arguments"), ctx };
  }

  roleOf(fn: LintNode): Role {
    const known = this.#roles.get(fn);
    if (known !== undefined) return known;
    // A function that is found again during the search, because it is recursive, counts as plain.
    this.#roles.set(fn, "plain");
    const role = this.#findRole(fn);
    this.#roles.set(fn, role);
    return role;
  }

  #findRole(fn: LintNode): Role {
    if (nodesAt(fn, "params").some(isOfTypeCtx)) return "workflow";
    const direct = this.#roleOfPlace(fn);
    if (direct !== "plain") return direct;
    const reads = declaredAs(this.#context, fn)?.references.filter((reference) => reference.isRead()) ?? [];
    if (reads.length === 0) return "plain";
    const roles = reads.map(({ identifier }) => this.#roleOfPlace(identifier));
    if (roles.includes("workflow")) return "workflow";
    if (roles.includes("branch")) return "branch";
    const isStep = (identifier: LintNode, role: Role): boolean => role === "step" || this.isInStep(identifier);
    return reads.every(({ identifier }, index) => isStep(identifier, roles[index] ?? "plain")) ? "step" : "plain";
  }

  /** Returns the role of a function at the place of this expression. */
  #roleOfPlace(expression: LintNode): Role {
    const place = usageOf(expression);
    if (place === null) return "plain";
    if (place.node.type === "CallExpression") return this.#roleOfArgument(place.node, place.part);
    if (place.node.type !== "Property") return "plain";
    return this.#roleOfProperty(place.node, place.part);
  }

  #roleOfArgument(call: LintNode, part: LintNode): Role {
    const index = nodesAt(call, "arguments").indexOf(part);
    if (index < 1) return "plain";
    if (this.#definesWorkflow(call)) return "workflow";
    const operation = this.callOf(call)?.operation ?? "";
    if (WITH_BODY.has(operation) && index === 1) return "step";
    return (operation === "try" && index === 1) || (operation === "map" && index === 2) ? "branch" : "plain";
  }

  /** Functions in the options of a step or a resource are steps. Functions of a join or race, and `run` of a loop, are branches. */
  #roleOfProperty(property: LintNode, part: LintNode): Role {
    if (nodeAt(property, "value") !== part) return "plain";
    const object = property.parent ?? null;
    const place = object === null ? null : usageOf(object);
    if (object?.type !== "ObjectExpression" || place === null) return "plain";
    const isRun = keyOf(property) === "run";
    if (place.node.type === "Property") {
      const role = this.#roleOfProperty(place.node, place.part);
      return role === "step" || (role === "branch" && isRun) ? role : "plain";
    }
    if (place.node.type === "ArrayExpression") return isRun && this.#isBranchList(place.node) ? "branch" : "plain";
    const call = this.callOf(place.node);
    const index = call?.args.indexOf(place.part) ?? -1;
    if (call === null || index < 0) return "plain";
    if (WITH_BRANCHES.has(call.operation) && index === 1) return "branch";
    if (call.operation === "loop" && isRun) return "branch";
    return WITH_BODY.has(call.operation) || call.operation === "resource" ? "step" : "plain";
  }

  #isBranchList(list: LintNode): boolean {
    const place = usageOf(list);
    const call = place === null ? null : this.callOf(place.node);
    return call !== null && WITH_BRANCHES.has(call.operation) && call.args.indexOf(place?.part ?? list) === 1;
  }

  /** Whether the call is `workflow()` of this package, under any imported name. */
  #definesWorkflow(call: LintNode): boolean {
    const callee = unwrap(nodeAt(call, "callee"));
    if (callee?.type === "MemberExpression") {
      const namespace = importOf(variableOf(this.#context, unwrap(nodeAt(callee, "object"))));
      return namespace?.name === "*" && keyOf(callee) === "workflow";
    }
    return importOf(variableOf(this.#context, callee))?.name === "workflow";
  }

  #around(node: LintNode): { readonly fn: LintNode; readonly role: Exclude<Role, "plain"> } | null {
    for (let above = node.parent ?? null; above !== null; above = above.parent ?? null) {
      if (!isFunction(above)) continue;
      const role = this.roleOf(above);
      if (role !== "plain") return { fn: above, role };
    }
    return null;
  }
}

/** Returns the function that a call calls. Null if the file does not declare it. */
export function calledFunction(context: LintContext, call: LintNode): LintNode | null {
  return functionOf(context, nodeAt(call, "callee"));
}

function isOfTypeCtx(param: LintNode): boolean {
  const annotation = nodeAt(param, "typeAnnotation");
  const type = annotation === null ? null : nodeAt(annotation, "typeAnnotation");
  return type?.type === "TSTypeReference" && nameOf(nodeAt(type, "typeName")) === "Ctx";
}
