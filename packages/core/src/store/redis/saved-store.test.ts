import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it, onTestFinished } from "vitest";
import { expectSavedDatabase, fillDatabase, withoutPaths } from "../../testing/saved-database.ts";
import type { RedisClient } from "./connection.ts";
import { redisStore } from "./index.ts";
import { redisClient } from "./redis-client.ts";

/** The keys of a store with layout 2, the first that was published. This file never changes; each later layout gets a file. */
const LAYOUT_2 = new URL("./fixtures/layout-2.jsonl", import.meta.url);

/** The prefix that the file names. */
const SAVED_PREFIX = "pawl-layout-2";

const ADDRESS = process.env.PAWL_TEST_REDIS_URL;

/** The name of a key, its type, and its values in the order in which they are written. */
type SavedKey = readonly [name: string, type: string, values: readonly string[]];

/** Rows are packed bytes, so a text that is not plain is written as hex. */
const SHOW = `
local function show(text)
  if not string.find(text, '[^ -~]') then return '=' .. text end
  return 'x' .. (string.gsub(text, '.', function(c) return string.format('%02x', string.byte(c)) end))
end
local function shown(values)
  local texts = {}
  for i, value in ipairs(values) do texts[i] = show(value) end
  return texts
end`;

const DUMP = `${SHOW}
local all = {}
for _, key in ipairs(redis.call('KEYS', ARGV[1])) do
  local type = redis.call('TYPE', key).ok
  local values = {}
  if type == 'string' then values = { redis.call('GET', key) }
  elseif type == 'hash' then values = redis.call('HGETALL', key)
  elseif type == 'list' then values = redis.call('LRANGE', key, 0, -1)
  elseif type == 'set' then values = redis.call('SMEMBERS', key)
  else
    local members = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for i = 1, #members, 2 do
      values[i], values[i + 1] = members[i + 1], members[i]
    end
  end
  all[#all + 1] = { show(key), type, shown(values) }
end
return all`;

const RESTORE = `
local function read(text)
  if string.sub(text, 1, 1) == '=' then return string.sub(text, 2) end
  return (string.gsub(string.sub(text, 2), '%x%x', function(hex) return string.char(tonumber(hex, 16)) end))
end
local COMMANDS = { string = 'SET', hash = 'HSET', list = 'RPUSH', set = 'SADD', zset = 'ZADD' }
local values = {}
for i = 3, #ARGV do values[#values + 1] = read(ARGV[i]) end
return redis.call(COMMANDS[ARGV[2]], read(ARGV[1]), unpack(values))`;

async function connected(): Promise<RedisClient> {
  const client = await redisClient(ADDRESS ?? "", { silenceMs: 10_000 });
  await client.connect();
  onTestFinished(async () => void (await client.close()));
  return client;
}

async function evaluate(
  client: RedisClient,
  script: string,
  prefix: string,
  args: readonly string[],
): Promise<unknown> {
  const key = `{${prefix}}`;
  return await client.send(key, ["EVAL", script, "1", key, ...args]);
}

async function dump(client: RedisClient, prefix: string): Promise<readonly SavedKey[]> {
  const keys = (await evaluate(client, DUMP, prefix, [`{${prefix}}:*`])) as readonly SavedKey[];
  return keys.toSorted(([left], [right]) => (left < right ? -1 : 1));
}

async function remove(client: RedisClient, prefix: string): Promise<void> {
  for (const [name] of await dump(client, prefix)) {
    const key = name.startsWith("=") ? name.slice(1) : Buffer.from(name.slice(1), "hex").toString();
    await client.send(key, ["DEL", key]);
  }
}

/** A prefix without keys, before the test and after it. */
async function emptyPrefix(client: RedisClient, prefix: string): Promise<string> {
  await remove(client, prefix);
  onTestFinished(async () => await remove(client, prefix));
  return prefix;
}

function savedKeys(): readonly SavedKey[] {
  const lines = readFileSync(LAYOUT_2, "utf8").trimEnd().split("\n");
  return lines.map((line) => JSON.parse(line) as SavedKey);
}

/** The kinds of keys: the part of a name that is no id, the type, and for rows their fields and the lengths of the packed lists. */
function layoutOf(keys: readonly SavedKey[], prefix: string): readonly string[] {
  const kinds = keys.flatMap(([name, type, values]) => {
    const bytes = name.startsWith("=") ? name.slice(1) : Buffer.from(name.slice(1), "hex").toString("latin1");
    const kind = bytes.slice(`{${prefix}}:`.length).split(":")[0];
    if (type !== "hash" || kind !== "r") return [`${kind} ${type}`];
    return values.flatMap((field, index) =>
      index % 2 === 0 ? [`${kind} ${type} ${field} ${packedLength(values[index + 1])}`] : [],
    );
  });
  return [...new Set(kinds)].sort();
}

/** The number of items in a list that MessagePack has packed. Null for other values. */
function packedLength(value = ""): number | null {
  const list = /^x(?:9([0-9a-f])|dc([0-9a-f]{4}))/.exec(value);
  return list === null ? null : Number.parseInt(list[1] ?? list[2] ?? "", 16);
}

describe.skipIf(ADDRESS === undefined)("the layout of a Redis store", () => {
  it.runIf(process.env.PAWL_SAVE_FORMAT === "redis")("a store of the current layout is saved", async () => {
    const client = await connected();
    const prefix = await emptyPrefix(client, SAVED_PREFIX);
    const engine = await fillDatabase(redisStore(ADDRESS ?? "", { prefix }));
    const lines = (await dump(client, prefix)).map((key) => JSON.stringify(key));
    writeFileSync(LAYOUT_2, withoutPaths(`${lines.join("\n")}\n`), { flag: "wx" });
    await engine.shutdown();
  });

  it("a new store has the kinds of keys and rows that the saved store of layout 2 has", async () => {
    const client = await connected();
    const prefix = await emptyPrefix(client, `pawl-layout-${process.pid}`);
    const engine = await fillDatabase(redisStore(ADDRESS ?? "", { prefix }));
    const layout = layoutOf(await dump(client, prefix), prefix);
    await engine.shutdown();
    expect(layout).toEqual(layoutOf(savedKeys(), SAVED_PREFIX));
  });

  it("a saved store of layout 2 is read, and its suspended runs continue", async () => {
    const client = await connected();
    const prefix = await emptyPrefix(client, SAVED_PREFIX);
    for (const [name, type, values] of savedKeys()) await evaluate(client, RESTORE, prefix, [name, type, ...values]);
    await expectSavedDatabase(async () => redisStore(ADDRESS ?? "", { prefix }));
  });
});
