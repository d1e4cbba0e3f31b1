import type { PostgresClient, PostgresPool } from "../store/postgres/driver.ts";

/** A pool that calls `watch` with each statement before it is sent. If `watch` throws, the statement is not sent and fails with that error. */
export function watchedPool(pool: PostgresPool, watch: (text: string) => void): PostgresPool {
  const watched = new WeakMap<PostgresClient, PostgresClient>();
  const wrap = (client: PostgresClient): PostgresClient => {
    const known = watched.get(client);
    if (known !== undefined) return known;
    const wrapped = new Proxy(client, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name);
        if (name !== "query") return typeof member === "function" ? member.bind(target) : member;
        return async (text: string | { readonly text: string }, values?: unknown[]) => {
          watch(typeof text === "string" ? text : text.text);
          return await target.query(text as string, values);
        };
      },
    });
    watched.set(client, wrapped);
    return wrapped;
  };
  return {
    connect: async () => wrap(await pool.connect()),
    end: () => pool.end(),
    on: pool.on.bind(pool),
  };
}
