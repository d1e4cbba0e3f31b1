/**
 * An ordered set that usually has no or one member. Then it is null or the member itself, and allocates nothing. A holder replaces
 * its value with the result of `withMember` or `withoutMember`.
 */
export type SmallSet<Member extends object> = Member | Set<Member> | null;

export function firstOf<Member extends object>(set: SmallSet<Member>): Member | null {
  if (!(set instanceof Set)) return set;
  for (const member of set) return member;
  return null;
}

export function hasMember<Member extends object>(set: SmallSet<Member>, member: Member): boolean {
  return set instanceof Set ? set.has(member) : set === member;
}

/** Returns a copy of the members. */
export function membersOf<Member extends object>(set: SmallSet<Member>): readonly Member[] {
  if (set instanceof Set) return [...set];
  return set === null ? [] : [set];
}

export function withMember<Member extends object>(set: SmallSet<Member>, member: Member): SmallSet<Member> {
  if (set instanceof Set) return set.add(member);
  return set === null || set === member ? member : new Set([set, member]);
}

export function withoutMember<Member extends object>(set: SmallSet<Member>, member: Member): SmallSet<Member> {
  if (!(set instanceof Set)) return set === member ? null : set;
  set.delete(member);
  return set.size === 0 ? null : set;
}
