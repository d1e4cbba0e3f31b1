/**
 * What runs and topics of this partition have to say to those of others. Each partition has an outbox for each other one; a
 * message lies in it from the commit that it belongs to until the other has taken it. The numbers of an outbox only grow, also
 * when a server comes back with older data, and who takes from it remembers the last: so each message takes effect once, in order.
 *
 * Keys: `ob:` the outbox for a partition. `c` has the number of the last message.
 */
export const OUTBOX_LUA = `
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
`;
