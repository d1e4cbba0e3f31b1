-- Events and waiters. Mirrors rules/apply-event.ts; its invariants hold here too.
--
-- Keys: `e:` an event, `pe:` the pending events of a topic by how they are consumed, `ex` pending events by expiry, `eo` ended events by time.

local PENDING_READ = 16

function events.get(id)
  local row = call('GET', P .. ':e:' .. id)
  if not row then return false end
  local r = unpacked(row)
  return {
    n = r[1], id = r[2], topic = r[3], value = r[4], at = r[5], expire = r[6], deliver = r[7], consume = r[8],
    max = r[9], pending = r[10], received = r[11], holder = r[12],
  }
end

local function pending_key(e) return P .. ':pe:' .. e.consume .. ':' .. e.topic end

local function remove_pending(e)
  call('ZREM', pending_key(e), e.id)
  call('ZREM', P .. ':ex', ordered(e.n, e.id))
end

-- Writes an event. `was` is whether it was pending before, or nil if the event is new.
function events.save(e, was)
  local row = { e.n, e.id, e.topic, e.value, e.at, e.expire, e.deliver, e.consume, e.max, e.pending, e.received, e.holder }
  call('SET', P .. ':e:' .. e.id, pack(row))
  if e.pending and not was then
    call('ZADD', pending_key(e), e.n, e.id)
    call('ZADD', P .. ':ex', e.expire, ordered(e.n, e.id))
    if was == false then call('ZREM', P .. ':eo', e.id) end
  elseif not e.pending and was ~= false then
    if was then remove_pending(e) end
    call('ZADD', P .. ':eo', e.at, e.id)
  end
end

function events.remove(e)
  call('DEL', P .. ':e:' .. e.id)
  call('ZREM', P .. ':eo', e.id)
  if e.pending then remove_pending(e) end
end

-- The oldest pending event of the topic, with a number above `after`, that a run created at this time may receive.
local function oldest_deliverable(topic, consume, after, created)
  local key, offset = P .. ':pe:' .. consume .. ':' .. topic, 0
  while true do
    local ids = call('ZRANGEBYSCORE', key, '(' .. whole(after), '+inf', 'LIMIT', offset, PENDING_READ)
    for _, id in ipairs(ids) do
      local e = events.get(id)
      if e.expire > now and (e.deliver == 'all' or e.at >= created) then return e end
    end
    if #ids < PENDING_READ then return false end
    offset = offset + PENDING_READ
  end
end

local function older(a, b) return a and (not b or a.n < b.n) and a or b end

function events.oldest_pending(topic, seen, created)
  return older(oldest_deliverable(topic, 'one', 0, created), oldest_deliverable(topic, 'all', seen, created))
end

local function find_pending(h, wanted)
  local oldest = false
  for _, topic in ipairs(wanted) do
    if is_local(topic) then oldest = older(events.oldest_pending(topic, topics.seen(h, topic), h[CREATED_AT]), oldest) end
  end
  return oldest
end

local function event_entry(e, value) return { 'event', 'event:' .. e.id, e.topic, value, false, e.at, 'discard' } end

-- Marks a pending event as received by this run.
function events.mark_received(e, id)
  if e.consume == 'one' then
    e.value, e.pending, e.received, e.holder = '-', false, true, id
    events.save(e, true)
  elseif not e.received then
    e.received = true
    events.save(e, true)
  end
end

-- Delivers an event to a run that waits for it. A run of another partition may not wait any more when the message arrives. It then
-- returns the event.
function events.deliver_to(id, e, value)
  local is_one, is_kept = e.consume == 'one', e.deliver ~= 'afterWait'
  local entry = event_entry(e, value)
  if is_local(id) then
    local h = runs.head(id)
    deliver_entry(h, entry, is_one)
    if not is_one and is_kept then topics.set_seen(h, e.topic, e.n) end
    return
  end
  topics.unqueue(e.topic, id)
  send(partition_of(id), {
    'hand', id, entry[1], entry[2], entry[3], entry[4], '-', whole(entry[6]), entry[7],
    e.consume, is_kept and whole(e.n) or '', e.deliver, whole(e.expire), whole(e.max),
  })
end

-- Delivers the oldest event that is pending on one of the topics. Returns the number of the newest inbox entry.
function events.deliver_pending(h, wanted)
  while true do
    local e = find_pending(h, wanted)
    if not e then return h[INBOX_LAST] end
    local entry = event_entry(e, e.value)
    if e.consume == 'all' then topics.set_seen(h, e.topic, e.n) end
    events.mark_received(e, h[ID])
    -- A run does not receive the same event twice, so the search continues. Exception: an event that it returned is delivered again.
    local n = h[INBOX_LAST] + 1
    if inbox.add(h, n, entry) or (e.consume == 'one' and inbox.restore(h, n, entry)) then return n end
  end
end

local function bury(e, value, reason, status)
  letters.insert({ name_segment(e.id), 'event', e.topic, e.topic, value, reason, status, e.at, now, e.id })
end

-- Removes a pending event from its topic. It becomes a dead letter if no run received it.
function events.end_pending(e, reason)
  local value = e.value
  e.value, e.pending = '-', false
  if e.received then
    events.save(e, true)
  else
    e.holder = false
    events.save(e, true)
    bury(e, value, reason, false)
  end
end

local function limit_pending(e)
  local one, all = P .. ':pe:one:' .. e.topic, P .. ':pe:all:' .. e.topic
  local count = call('ZCARD', one) + call('ZCARD', all)
  while count > e.max do
    local first_one = call('ZRANGE', one, 0, 0, 'WITHSCORES')
    local first_all = call('ZRANGE', all, 0, 0, 'WITHSCORES')
    local oldest = first_one[1] or first_all[1]
    if not oldest then return end
    if first_one[1] and first_all[1] and tonumber(first_all[2]) < tonumber(first_one[2]) then oldest = first_all[1] end
    events.end_pending(events.get(oldest), 'overflow')
    count = count - 1
  end
end

local function insert(e)
  e.n = call('HINCRBY', P .. ':c', 'event', 1)
  events.save(e, nil)
end

function events.apply(e)
  if call('EXISTS', P .. ':e:' .. e.id) == 1 then return { 'duplicate' } end
  local kept, value = e.deliver ~= 'afterWait', e.value
  e.holder = false
  if e.consume == 'one' then
    local waiter = topics.longest_waiter(e.topic)
    if waiter then
      e.value, e.pending, e.received, e.holder = '-', false, true, waiter
      insert(e)
      events.deliver_to(waiter, e, value)
      return { 'delivered', 1 }
    end
  end
  local waiters = e.consume == 'all' and topics.waiters(e.topic) or {}
  if not kept then e.value = '-' end
  e.pending, e.received = kept, #waiters > 0
  insert(e)
  for _, waiter in ipairs(waiters) do events.deliver_to(waiter, e, value) end
  if kept then limit_pending(e) end
  if #waiters > 0 then return { 'delivered', #waiters } end
  return { kept and 'queued' or 'dropped' }
end

-- Takes back an event that a run did not receive: for the next waiter, for the topic, or as a dead letter.
function events.take_back(e, id, status, value)
  if e.consume == 'all' or e.holder ~= id then return end
  local waiter = e.expire > now and topics.longest_waiter(e.topic)
  if waiter then
    e.holder = waiter
    events.deliver_to(waiter, e, value)
    events.save(e, e.pending)
  elseif e.deliver == 'afterWait' then
    e.received, e.holder = false, false
    events.save(e, e.pending)
    bury(e, value, 'targetTerminated', status)
  else
    local was = e.pending
    e.value, e.received, e.holder, e.pending = value, false, false, true
    events.save(e, was)
    limit_pending(e)
  end
end

-- Takes back an event whose row was pruned. An event that an operator restored does not contain how it is consumed, so it is unknown
-- whether other runs received it. It becomes a dead letter, and an operator decides.
function events.take_back_pruned(e, id, status, value)
  if e.consume == '' then
    bury(e, value, 'targetTerminated', status)
    return
  end
  e.value, e.pending, e.received, e.holder = '-', false, true, id
  insert(e)
  events.take_back(e, id, status, value)
end

-- Returns an event to its topic. A topic of another partition sent the entry's fields from the eighth on: consume, deliver, expire, max.
function events.return_event(id, status, entry)
  local event_id, topic = string.sub(entry[2], 7), entry[3]
  if is_local(topic) then
    local e = events.get(event_id)
    if e then events.take_back(e, id, status, entry[4]) end
  elseif entry[8] ~= 'all' then
    send(partition_of(topic), {
      'return', event_id, id, status and '=' .. status or '-', topic, entry[4], whole(entry[6]),
      entry[8] or '', entry[9] or 'all', entry[10] or whole(now), entry[11] or '1',
    })
  end
end

local function is_in_inbox(e)
  if not e.holder or not is_local(e.holder) then return false end
  local n = call('HGET', P .. ':k:' .. e.holder, 'event:event:' .. e.id)
  return n and call('HEXISTS', P .. ':b:' .. e.holder, n) == 1
end

-- Deletes events from before this time that are neither pending nor in an inbox. Returns their number.
function events.remove_before(before_at, limit)
  local removed, skipped = 0, 0
  while removed < limit do
    local ids = call('ZRANGEBYSCORE', P .. ':eo', '-inf', '(' .. whole(before_at), 'LIMIT', skipped, limit - removed)
    for _, id in ipairs(ids) do
      local e = events.get(id)
      if is_in_inbox(e) then
        skipped = skipped + 1
      else
        events.remove(e)
        removed = removed + 1
      end
    end
    if #ids == 0 then return removed end
  end
  return removed
end
