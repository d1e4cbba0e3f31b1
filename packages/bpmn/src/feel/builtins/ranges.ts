import { equal, order, within } from "../compare.ts";
import { parseRange } from "../parse-range.ts";
import { type FeelRange, type FeelValue, isKind } from "../value.ts";
import { signature } from "./signature.ts";

/**
 * A relation between two ranges. A missing bound lies beyond all points. Null if the points are not comparable.
 */
type Relation = (a: FeelRange, b: FeelRange) => boolean | null;

class NoOrder extends Error {}

function ordered(a: FeelValue, b: FeelValue): number {
  const result = order(a, b);
  if (result === null) throw new NoOrder("no order");
  return result;
}

const isSame = (a: FeelValue, b: FeelValue): boolean => (a === null || b === null ? a === b : ordered(a, b) === 0);

/** Compares the starts. Negative if `a` starts before `b`. */
function starts(a: FeelRange, b: FeelRange): number {
  if (a.start === null || b.start === null) return a.start === b.start ? 0 : a.start === null ? -1 : 1;
  const points = ordered(a.start, b.start);
  if (points !== 0 || a.startIncluded === b.startIncluded) return points;
  return a.startIncluded ? -1 : 1;
}

function ends(a: FeelRange, b: FeelRange): number {
  if (a.end === null || b.end === null) return a.end === b.end ? 0 : a.end === null ? 1 : -1;
  const points = ordered(a.end, b.end);
  if (points !== 0 || a.endIncluded === b.endIncluded) return points;
  return a.endIncluded ? 1 : -1;
}

/** All points of `a` are before the first point of `b`. */
function isBefore(a: FeelRange, b: FeelRange): boolean {
  if (a.end === null || b.start === null) return false;
  const points = ordered(a.end, b.start);
  return points < 0 || (points === 0 && !(a.endIncluded && b.startIncluded));
}

function doMeet(a: FeelRange, b: FeelRange): boolean {
  return a.endIncluded && b.startIncluded && a.end !== null && isSame(a.end, b.start);
}

const overlap: Relation = (a, b) => !isBefore(a, b) && !isBefore(b, a);

const RELATIONS: Readonly<Record<string, Relation>> = {
  before: isBefore,
  after: (a, b) => isBefore(b, a),
  meets: doMeet,
  "met by": (a, b) => doMeet(b, a),
  overlaps: overlap,
  "overlaps before": (a, b) => overlap(a, b) === true && starts(a, b) < 0 && ends(a, b) <= 0,
  "overlaps after": (a, b) => overlap(a, b) === true && starts(a, b) > 0 && ends(a, b) >= 0,
  finishes: (a, b) => ends(a, b) === 0 && starts(a, b) >= 0,
  "finished by": (a, b) => ends(a, b) === 0 && starts(a, b) <= 0,
  includes: (a, b) => starts(a, b) <= 0 && ends(a, b) >= 0,
  during: (a, b) => starts(a, b) >= 0 && ends(a, b) <= 0,
  starts: (a, b) => starts(a, b) === 0 && ends(a, b) <= 0,
  "started by": (a, b) => starts(a, b) === 0 && ends(a, b) >= 0,
  coincides: (a, b) => starts(a, b) === 0 && ends(a, b) === 0,
};

const related =
  (relation: Relation) =>
  ([a, b]: readonly FeelValue[]): FeelValue => {
    try {
      return relation(a as FeelRange, b as FeelRange);
    } catch (error) {
      if (error instanceof NoOrder) return null;
      throw error;
    }
  };

/** The relation of two points, or of a point and a range. Null if the relation is not defined for them. */
function onPoints(name: string, a: FeelValue, b: FeelValue): FeelValue {
  const [left, right] = [isKind(a, "range"), isKind(b, "range")];
  if (!left && !right) {
    const result = order(a, b);
    if (result === null) return null;
    if (name === "before") return result < 0;
    return name === "after" ? result > 0 : name === "coincides" ? equal(a, b) : null;
  }
  const point = left ? b : a;
  const range = (left ? a : b) as FeelRange;
  if (point === null) return null;
  if (name === "before" || name === "after") {
    const isBeforeAsked = (name === "before") === right;
    const bound = isBeforeAsked ? range.start : range.end;
    if (bound === null) return order(point, range.start ?? range.end) === null ? null : false;
    const result = order(point, bound);
    if (result === null) return null;
    const included = isBeforeAsked ? range.startIncluded : range.endIncluded;
    return (isBeforeAsked ? result < 0 : result > 0) || (result === 0 && !included);
  }
  if (name === "includes" ? left : name === "during" && right) return within(point, range);
  const isStart = name === "starts" ? right : name === "started by" && left;
  if (isStart) return touches(point, range.start, range.startIncluded);
  const isEnd = name === "finishes" ? right : name === "finished by" && left;
  return isEnd ? touches(point, range.end, range.endIncluded) : null;
}

function touches(point: FeelValue, bound: FeelValue, isIncluded: boolean): FeelValue {
  const result = order(point, bound);
  return result === null ? null : result === 0 && isIncluded;
}

/** Parameter names of the relations that take at least one point. */
const NAMINGS = ["point1: any, point2: any", "point: any, range: any", "range: any, point: any"];

export const RANGE_FUNCTIONS = [
  ...Object.entries(RELATIONS).flatMap(([name, relation]) => [
    signature(`${name}(range1: range, range2: range)`, related(relation)),
    ...NAMINGS.map((naming) => signature(`${name}(${naming})`, ([a = null, b = null]) => onPoints(name, a, b))),
  ]),
  signature("range(from: string)", ([text], run) => parseRange(text as string) ?? run.warn("text is not a range")),
];
