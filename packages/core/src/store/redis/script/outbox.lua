-- Messages of this partition to others. A partition has one outbox for each other partition. A message is in the outbox from its commit
-- until the other partition has received it. The numbers of an outbox only grow, even if a server restarts with older data, and the
-- receiver stores the last number. So each message takes effect once, in order.
--
-- Keys: `ob:` the outbox for a partition. `c` has the number of the last message.

local PARTITION, PARTITIONS = tonumber(ARGV[4]), tonumber(ARGV[5])
local OUTBOX_READ = 100
local NUMBERS_PER_MS = 1000
local sent_to, sent_order = {}, {}

-- An ended generation is in the partition of its run.
local function partition_of(text)
  if PARTITIONS == 1 then return PARTITION end
  local home = string.find(text, '//~generation/', 1, true) and string.match(text, '^(.*)//~generation/%d+$') or text
  return tonumber(string.sub(redis.sha1hex(home), 1, 8), 16) % PARTITIONS
end

local function is_local(text) return PARTITIONS == 1 or partition_of(text) == PARTITION end

local function send(partition, words)
  local last = tonumber(call('HGET', P .. ':c', 'sent') or 0)
  local n = whole(math.max(last + 1, now * NUMBERS_PER_MS))
  call('HSET', P .. ':c', 'sent', n)
  call('ZADD', P .. ':ob:' .. partition, n, n .. ' ' .. cjson.encode(words))
  if not sent_to[partition] then sent_order[#sent_order + 1] = partition end
  sent_to[partition] = true
end

-- The oldest messages of each outbox that this script added to. Older messages may come before the new ones.
local function outgoing()
  local found = {}
  for i, partition in ipairs(sent_order) do
    found[i] = { partition, call('ZRANGE', P .. ':ob:' .. partition, 0, OUTBOX_READ - 1) }
  end
  return found
end

local function acknowledge()
  local partition, n = arg(), arg()
  return { now, call('ZREMRANGEBYSCORE', P .. ':ob:' .. partition, '-inf', n) }
end
