/**
 * A database that counts statements and commits. It is too slow for timing.
 *
 * @param {any} database
 */
export function counted(database) {
  const counts = { commits: 0, statements: 0 };
  /** @param {string} sql */
  const note = (sql) => {
    if (sql === "BEGIN IMMEDIATE") counts.commits += 1;
    else if (!/^(?:BEGIN|COMMIT|ROLLBACK|PRAGMA)/.test(sql)) counts.statements += 1;
  };
  /** @param {string} sql */
  const prepare = (sql) => {
    const statement = database.prepare(sql);
    /** @param {"run" | "get" | "all"} method */
    const noting =
      (method) =>
      (...values) => {
        note(sql);
        return statement[method](...values);
      };
    return { run: noting("run"), get: noting("get"), all: noting("all") };
  };
  return {
    counts,
    source: { exec: (sql) => database.exec(sql), prepare, close: () => database.close() },
  };
}
