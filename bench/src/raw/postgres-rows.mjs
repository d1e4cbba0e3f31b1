import pg from "pg";

/**
 * A plain table with a primary key and rows of about 200 bytes, like those of a journal: the limit of this server with Pawl's driver.
 */

const TABLE =
  "CREATE TABLE IF NOT EXISTS raw_rows (id text, seq int, kind text, payload text, at bigint, PRIMARY KEY (id, seq))";
const INSERT = "INSERT INTO raw_rows VALUES ($1, $2, $3, $4, $5)";
const INSERT_MANY =
  "INSERT INTO raw_rows SELECT * FROM unnest($1::text[], $2::int[], $3::text[], $4::text[], $5::bigint[])";
const PAYLOAD = JSON.stringify({ ok: true, text: "x".repeat(150) });
const WARM_COMMITS = 50;

/** @param {string} url */
export async function openPostgresRows(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(TABLE);
  const { processID: own } = client;
  let written = 0;
  const commit = async () => {
    written += 1;
    const values = [`one-${own}-${written}`, written, "step", PAYLOAD, Date.now()];
    const startedAt = performance.now();
    await client.query(INSERT, values);
    return performance.now() - startedAt;
  };
  for (let n = 0; n < WARM_COMMITS; n += 1) await commit();
  return {
    commit,
    /** Writes rows in one statement. @param {number} rows */
    async commitMany(rows) {
      const places = Array.from({ length: rows }, (_, place) => place);
      written += 1;
      await client.query(INSERT_MANY, [
        places.map((place) => `run-${own}-${written}-${place}`),
        places,
        places.map(() => "step"),
        places.map(() => PAYLOAD),
        places.map(() => Date.now()),
      ]);
    },
    close: () => client.end(),
  };
}
