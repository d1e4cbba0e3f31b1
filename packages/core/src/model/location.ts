/**
 * The path of names to a command: `order/~3/charge`. Names are escaped, so no two paths of different names are the same
 * text; a name used again in its scope gets `#2`, `#3`.
 */

const RESERVED = /[%/~#]/g;

const HAS_RESERVED = /[%/~#]/;

/** A name as one segment of a location. */
export function nameSegment(name: string): string {
  if (!HAS_RESERVED.test(name)) return name;
  return name.replace(RESERVED, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** The name that a segment was made from, without its `#n`. */
export function segmentName(segment: string): string {
  const end = segment.indexOf("#");
  return decodeURIComponent((end < 0 ? segment : segment.slice(0, end)).replace(/%(?!(25|2F|7E|23))/g, "%25"));
}

/** A scope of names: knows which were used, and gives each command its location. */
export interface Scope {
  readonly prefix: string;
  /** The first name that was used. */
  first: string | null;
  /** All that were used, once there are several. */
  few: string[] | null;
  /** The same, once there are many. */
  many: Set<string> | null;
  /** How often those were used that were used again. */
  again: Map<string, number> | null;
}

export function scopeAt(prefix: string): Scope {
  return { prefix, first: null, few: null, many: null, again: null };
}

/** The location of the next command of this name in the scope. */
export function nextLocation(scope: Scope, name: string): string {
  const segment = scope.prefix + nameSegment(name);
  if (use(scope, name)) return segment;
  scope.again ??= new Map();
  const count = (scope.again.get(name) ?? 1) + 1;
  scope.again.set(name, count);
  return `${segment}#${count}`;
}

/** How many names are looked through one by one, which is faster than a set and takes less. */
const FEW_MAX = 16;

/** Notes that the name is used; false: it was used before. */
function use(scope: Scope, name: string): boolean {
  if (scope.many !== null) {
    const { size } = scope.many;
    return scope.many.add(name).size > size;
  }
  if (scope.first === null) {
    scope.first = name;
    return true;
  }
  scope.few ??= [scope.first];
  if (scope.few.includes(name)) return false;
  scope.few.push(name);
  if (scope.few.length > FEW_MAX) {
    scope.many = new Set(scope.few);
    scope.few = null;
  }
  return true;
}
