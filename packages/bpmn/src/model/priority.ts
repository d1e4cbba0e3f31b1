/** Names of priorities. Apart, because tasks and instances have them. */
const PRIORITIES = { low: 25, normal: 50, medium: 50, high: 75, urgent: 100 } as const;

export type PriorityName = keyof typeof PRIORITIES;
export const PRIORITY_NAMES = Object.keys(PRIORITIES) as readonly PriorityName[];

/** The number of a priority. NaN if the text is neither a name nor a number. */
export function priorityNumber(priority: unknown): number {
  const name = String(priority).toLowerCase();
  return Object.hasOwn(PRIORITIES, name) ? PRIORITIES[name as PriorityName] : Number(priority);
}
