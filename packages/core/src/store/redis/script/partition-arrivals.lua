-- Messages from other partitions: posts, and the exchange between runs and topics of different partitions. A waiting run asks the topic;
-- the topic delivers an event to it; a run that stopped waiting returns the event.
--
-- Keys: `hw`, by partition, the number of the last message taken from it.

local arrivals = {}

function arrivals.subscribe()
  local topic, id, created, seen = arg(), arg(), num(), num()
  local e = events.oldest_pending(topic, seen, created)
  if not e then
    topics.queue(topic, id)
    return
  end
  local value = e.value
  events.mark_received(e, id)
  events.hand(id, e, value)
end

-- A run of this partition has a child in another, and did not start it itself.
function arrivals.child() call('SADD', P .. ':cx:' .. arg(), arg()) end

function arrivals.leave() topics.unqueue(arg(), arg()) end

-- An event that the run has had brings nothing: it still waits, so it asks again.
function arrivals.hand()
  local id, e = arg(), read.entry()
  local consume, n = arg(), num_or_null()
  e[8], e[9], e[10], e[11] = consume, arg(), arg(), arg()
  local h, topic = runs.head(id), e[3]
  if h and not is_terminal(h[STATUS]) and topics.is_subscribed(h, topic) then
    if n and n > topics.seen(h, topic) then topics.set_seen(h, topic, n) end
    if receive(h, e, consume == 'one')[1] == 'duplicate' then topics.ask(h, topic) end
  else
    events.return_event(id, h and h[STATUS], e)
  end
end

arrivals['return'] = function()
  local event_id, id, status = arg(), arg(), text_or_null()
  local given_back = { id = event_id, topic = arg() }
  local value = arg()
  given_back.at, given_back.consume, given_back.deliver = num(), arg(), arg()
  given_back.expire, given_back.max = num(), num()
  local e = events.get(event_id)
  if e then events.take_back(e, id, status, value) else events.take_back_forgotten(given_back, id, status, value) end
end

local function arrive(words)
  given, at = words, 0
  local arrival = arrivals[words[1]]
  if not arrival then
    apply_post(read.post())
    return
  end
  arg()
  arrival()
end

-- Messages of one partition's outbox, from the oldest on; those that were taken before are passed over.
local function deliver()
  local source, messages = arg(), list()
  local taken = tonumber(call('HGET', P .. ':hw', source) or 0)
  for _, message in ipairs(messages) do
    local gap = string.find(message, ' ', 1, true)
    local n = tonumber(string.sub(message, 1, gap - 1))
    if n > taken then
      taken = n
      arrive(cjson.decode(string.sub(message, gap + 1)))
    end
  end
  call('HSET', P .. ':hw', source, whole(taken))
  runs.flush()
  tell()
  return { now, woken(), outgoing(), whole(taken) }
end

-- Removes ended runs that are named, with all that belongs to them.
local function remove_named()
  local ended_before, removed = num(), 0
  for _, id in ipairs(list()) do
    local h = runs.head(id)
    if h and is_terminal(h[STATUS]) and h[ENDED_AT] < ended_before and call('EXISTS', P .. ':ch:' .. id) == 0 then
      runs.remove(h)
      removed = removed + 1
    end
  end
  return { now, removed }
end
