import { isFunction, type LintNode, nodeAt, nodesAt } from "./lint-node.ts";

/** Whether one execution of the code can reach both nodes. `first` precedes `second`. */
export function canBothRun(first: LintNode, second: LintNode): boolean {
  const above = [...ancestors(first)];
  const meeting = [...ancestors(second)].find((node) => above.includes(node));
  if (meeting === undefined) return true;
  const firstPart = partOf(meeting, first);
  const secondPart = partOf(meeting, second);
  if (isChoice(meeting, firstPart, secondPart)) return false;
  return !leaves(first, meeting);
}

function* ancestors(node: LintNode): Generator<LintNode> {
  for (let above: LintNode | null = node; above !== null; above = above.parent ?? null) yield above;
}

/** Returns the part of `whole` that contains the node. */
function partOf(whole: LintNode, node: LintNode): LintNode {
  let part = node;
  for (const above of ancestors(node)) {
    if (above === whole) return part;
    part = above;
  }
  return part;
}

/** Whether the parts are alternatives: arms of an `if` or a conditional, or cases of a switch without fall-through. */
function isChoice(whole: LintNode, first: LintNode, second: LintNode): boolean {
  if (whole.type === "IfStatement" || whole.type === "ConditionalExpression") {
    const arms = [nodeAt(whole, "consequent"), nodeAt(whole, "alternate")];
    return first !== second && arms.includes(first) && arms.includes(second);
  }
  if (whole.type !== "SwitchStatement" || first === second) return false;
  return first.type === "SwitchCase" && second.type === "SwitchCase" && endsCase(nodesAt(first, "consequent"));
}

/** Whether the branch that contains the node exits before the end of the part of `whole` that contains it. */
function leaves(node: LintNode, whole: LintNode): boolean {
  for (const above of ancestors(node)) {
    if (above === whole || isFunction(above)) return false;
    const isArm = above.parent?.type === "IfStatement" && nodeAt(above.parent, "test") !== above;
    if (isArm && isLeaving(above)) return true;
  }
  return false;
}

const LEAVING = new Set(["ReturnStatement", "ThrowStatement", "ContinueStatement", "BreakStatement"]);

function isLeaving(node: LintNode): boolean {
  if (LEAVING.has(node.type)) return true;
  if (node.type !== "BlockStatement") return false;
  const last = nodesAt(node, "body").at(-1);
  return last !== undefined && isLeaving(last);
}

function endsCase(statements: readonly LintNode[]): boolean {
  const last = statements.at(-1);
  return last !== undefined && isLeaving(last);
}
