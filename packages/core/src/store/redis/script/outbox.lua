-- Messages of this partition to others. A partition has one outbox for each other partition. A message stays in it from its commit
-- until the other partition has taken it. The numbers of an outbox only grow, even when a server comes back with older data, and the
-- receiver stores the last number. So each message takes effect once, in order.
--
-- Keys: `ob:` the outbox for a partition. `c` has the number of the last message.

local HERE, PLACES = tonumber(ARGV[4]), tonumber(ARGV[5])
local OUTBOX_READ = 100
local NUMBERS_A_MS = 1000
local sent_to, sent_order = {}, {}

local function place_of(text)
  if PLACES == 1 then return HERE end
  return tonumber(string.sub(redis.sha1hex(text), 1, 8), 16) % PLACES
end

local function is_here(text) return PLACES == 1 or place_of(text) == HERE end

local function send(place, words)
  local last = tonumber(call('HGET', P .. ':c', 'sent') or 0)
  local n = whole(math.max(last + 1, now * NUMBERS_A_MS))
  call('HSET', P .. ':c', 'sent', n)
  call('ZADD', P .. ':ob:' .. place, n, n .. ' ' .. cjson.encode(words))
  if not sent_to[place] then sent_order[#sent_order + 1] = place end
  sent_to[place] = true
end

-- What lies in the outboxes that were added to, from the oldest on: the new messages may not be all.
local function outgoing()
  local found = {}
  for i, place in ipairs(sent_order) do
    found[i] = { place, call('ZRANGE', P .. ':ob:' .. place, 0, OUTBOX_READ - 1) }
  end
  return found
end

local function acknowledge()
  local place, n = arg(), arg()
  return { now, call('ZREMRANGEBYSCORE', P .. ':ob:' .. place, '-inf', n) }
end
