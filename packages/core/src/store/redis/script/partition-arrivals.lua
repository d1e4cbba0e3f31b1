-- Messages from other partitions: posts, and the exchange between runs and topics of different partitions. A run subscribes to a topic
-- (`subscribe`) and unsubscribes (`leave`). The topic delivers an event to the run (`hand`). A run that does not wait any more returns
-- the event (`return`).
--
-- Keys: `hw`, by partition, the number of the last message received from it.

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
  events.deliver_to(id, e, value)
end

-- A caller, not the parent, created a child of a run of this partition in another one.
function arrivals.child() call('SADD', P .. ':cx:' .. arg(), arg()) end

function arrivals.leave() topics.unqueue(arg(), arg()) end

-- A run does not receive the same event twice. It still waits then, so it subscribes again.
function arrivals.hand()
  local id, e = arg(), read.entry()
  local consume, n = arg(), num_or_null()
  e[8], e[9], e[10], e[11] = consume, arg(), arg(), arg()
  local h, topic = runs.head(id), e[3]
  if h and not is_terminal(h[STATUS]) and topics.is_subscribed(h, topic) then
    if n and n > topics.seen(h, topic) then topics.set_seen(h, topic, n) end
    if deliver_entry(h, e, consume == 'one')[1] == 'duplicate' then topics.request(h, topic) end
  else
    events.return_event(id, h and h[STATUS], e)
  end
end

arrivals['return'] = function()
  local event_id, id, status = arg(), arg(), text_or_null()
  local returned = { id = event_id, topic = arg() }
  local value = arg()
  returned.at, returned.consume, returned.deliver = num(), arg(), arg()
  returned.expire, returned.max = num(), num()
  local e = events.get(event_id)
  if e then events.take_back(e, id, status, value) else events.take_back_pruned(returned, id, status, value) end
end

local function arrive(words)
  args, at = words, 0
  local arrival = arrivals[words[1]]
  if not arrival then
    apply_post(read.post())
    return
  end
  arg()
  arrival()
end

-- Receives messages of another partition's outbox, oldest first. Messages that were received before are skipped.
local function deliver()
  local source, messages = arg(), list()
  local received_last = tonumber(call('HGET', P .. ':hw', source) or 0)
  for _, message in ipairs(messages) do
    local gap = string.find(message, ' ', 1, true)
    local n = tonumber(string.sub(message, 1, gap - 1))
    if n > received_last then
      received_last = n
      arrive(cjson.decode(string.sub(message, gap + 1)))
    end
  end
  call('HSET', P .. ':hw', source, whole(received_last))
  runs.flush()
  publish_hint()
  return { now, woken(), outgoing(), whole(received_last) }
end

-- Deletes these runs if they ended before the time and have no child here.
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
