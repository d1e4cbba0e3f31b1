/**
 * A set in the order of its members that mostly has none or one: then it is null, or that member itself, and nothing is made for
 * it. Whoever holds one keeps what these functions give instead of what they were given.
 */
export type SmallSet<Member extends object> = Member | Set<Member> | null;

export function firstOf<Member extends object>(few: SmallSet<Member>): Member | null {
  if (!(few instanceof Set)) return few;
  for (const member of few) return member;
  return null;
}

export function hasMember<Member extends object>(few: SmallSet<Member>, member: Member): boolean {
  return few instanceof Set ? few.has(member) : few === member;
}

/** As they are at this moment. */
export function membersOf<Member extends object>(few: SmallSet<Member>): readonly Member[] {
  if (few instanceof Set) return [...few];
  return few === null ? [] : [few];
}

export function withMember<Member extends object>(few: SmallSet<Member>, member: Member): SmallSet<Member> {
  if (few instanceof Set) return few.add(member);
  return few === null || few === member ? member : new Set([few, member]);
}

export function withoutMember<Member extends object>(few: SmallSet<Member>, member: Member): SmallSet<Member> {
  if (!(few instanceof Set)) return few === member ? null : few;
  few.delete(member);
  return few.size === 0 ? null : few;
}
