/**
 * A location is the path of names to a command: `order/~3/charge`. Names are escaped, so paths of different names are different
 * texts. A name that is used again in its scope gets `#2`, `#3`.
 */

const RESERVED = /[%/~#]/g;

const HAS_RESERVED = /[%/~#]/;

/** Escapes a name as one segment of a location. */
export function nameSegment(name: string): string {
  if (!HAS_RESERVED.test(name)) return name;
  return name.replace(RESERVED, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`);
}

/** Returns the name that a segment was made from, without its `#n`. */
export function segmentName(segment: string): string {
  const end = segment.indexOf("#");
  return decodeURIComponent((end < 0 ? segment : segment.slice(0, end)).replace(/%(?!(25|2F|7E|23))/g, "%25"));
}

/** The names used in one scope of a program. A scope with few names uses little memory. */
export interface Scope {
  readonly prefix: string;
  /** The first name. Null if none was used. */
  first: string | null;
  /** All names, if there are 2 to FEW_MAX. */
  few: string[] | null;
  /** All names, if there are more. */
  many: Set<string> | null;
  /** How often each name was used, for names that were used more than once. */
  again: Map<string, number> | null;
}

export function scopeAt(prefix: string): Scope {
  return { prefix, first: null, few: null, many: null, again: null };
}

/** Returns the location of the scope's next command with this name. */
export function nextLocation(scope: Scope, name: string): string {
  const segment = scope.prefix + nameSegment(name);
  if (use(scope, name)) return segment;
  scope.again ??= new Map();
  const count = (scope.again.get(name) ?? 1) + 1;
  scope.again.set(name, count);
  return `${segment}#${count}`;
}

/** Up to this number of names an array is faster and smaller than a set. */
const FEW_MAX = 16;

/** Adds a name. Returns false if it was used before. */
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
