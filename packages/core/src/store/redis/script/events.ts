/**
 * Events meet waiters, as `apply-event.ts` has it: E1 and E2 hold here too.
 *
 * Keys: `e:` an event, `pe:` the pending ones of a topic by how they are consumed, `ex` pending ones by the end of their time,
 * `eo` those that are over by their time.
 */
export const EVENTS_LUA = `
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

local function leave_pending(e)
  call('ZREM', pending_key(e), e.id)
  call('ZREM', P .. ':ex', ordered(e.n, e.id))
end

-- Writes an event that was pending, or was not, or is written for the first time (nil).
function events.save(e, was)
  local row = { e.n, e.id, e.topic, e.value, e.at, e.expire, e.deliver, e.consume, e.max, e.pending, e.received, e.holder }
  call('SET', P .. ':e:' .. e.id, pack(row))
  if e.pending and not was then
    call('ZADD', pending_key(e), e.n, e.id)
    call('ZADD', P .. ':ex', e.expire, ordered(e.n, e.id))
    if was == false then call('ZREM', P .. ':eo', e.id) end
  elseif not e.pending and was ~= false then
    if was then leave_pending(e) end
    call('ZADD', P .. ':eo', e.at, e.id)
  end
end

function events.remove(e)
  call('DEL', P .. ':e:' .. e.id)
  call('ZREM', P .. ':eo', e.id)
  if e.pending then leave_pending(e) end
end

-- The oldest pending event of the topic, after this number, that a run of this age may get.
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

local function find_pending(h, wanted)
  local oldest = false
  for _, topic in ipairs(wanted) do
    local one = oldest_deliverable(topic, 'one', 0, h[CREATED_AT])
    if one and (not oldest or one.n < oldest.n) then oldest = one end
    local all = oldest_deliverable(topic, 'all', topics.seen(h, topic), h[CREATED_AT])
    if all and (not oldest or all.n < oldest.n) then oldest = all end
  end
  return oldest
end

local function event_entry(e, value) return { 'event', 'event:' .. e.id, e.topic, value, false, e.at, 'discard' } end

-- Delivers the oldest event that is pending on one of the topics; says the newest inbox number then.
function events.deliver_pending(h, wanted)
  while true do
    local e = find_pending(h, wanted)
    if not e then return h[INBOX_LAST] end
    local entry = event_entry(e, e.value)
    if e.consume == 'one' then
      e.value, e.pending, e.received, e.holder = '-', false, true, h[ID]
      events.save(e, true)
    else
      topics.set_seen(h, e.topic, e.n)
      if not e.received then
        e.received = true
        events.save(e, true)
      end
    end
    -- An id that the run has had brings nothing more: the next event may.
    -- One that it had left behind is pending again.
    local n = h[INBOX_LAST] + 1
    if inbox.add(h, n, entry) or (e.consume == 'one' and inbox.restore(h, n, entry)) then return n end
  end
end

local function bury(e, value, reason, status)
  letters.insert({ name_segment(e.id), 'event', e.topic, e.topic, value, reason, status, e.at, now, e.id })
end

-- Takes an event out of its topic for good. One that nobody had becomes a dead letter.
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
      e.value, e.pending, e.received, e.holder = '-', false, true, waiter[ID]
      insert(e)
      receive(waiter, event_entry(e, value), true)
      return { 'delivered', 1 }
    end
  end
  local waiters = e.consume == 'all' and topics.waiters(e.topic) or {}
  if not kept then e.value = '-' end
  e.pending, e.received = kept, #waiters > 0
  insert(e)
  for _, waiter in ipairs(waiters) do
    receive(waiter, event_entry(e, value))
    if kept then topics.set_seen(waiter, e.topic, e.n) end
  end
  if kept then limit_pending(e) end
  if #waiters > 0 then return { 'delivered', #waiters } end
  return { kept and 'queued' or 'dropped' }
end

-- An event that a run had and left behind: the next waiter has it, or the topic, or it is a dead letter.
function events.give_back(h, entry)
  local e = events.get(string.sub(entry[2], 7))
  if not e or e.consume == 'all' or e.holder ~= h[ID] then return end
  local waiter = e.expire > now and topics.longest_waiter(e.topic)
  if waiter then
    e.holder = waiter[ID]
    receive(waiter, event_entry(e, entry[4]), true)
    events.save(e, e.pending)
  elseif e.deliver == 'afterWait' then
    e.received, e.holder = false, false
    events.save(e, e.pending)
    bury(e, entry[4], 'targetTerminated', h[STATUS])
  else
    local was = e.pending
    e.value, e.received, e.holder, e.pending = entry[4], false, false, true
    events.save(e, was)
    limit_pending(e)
  end
end

local function is_held(e)
  if not e.holder then return false end
  local n = call('HGET', P .. ':k:' .. e.holder, 'event:event:' .. e.id)
  return n and call('HEXISTS', P .. ':b:' .. e.holder, n) == 1
end

-- Removes events from before this that are neither pending nor in an inbox; says how many.
function events.remove_before(before_at, limit)
  local removed, passed = 0, 0
  while removed < limit do
    local ids = call('ZRANGEBYSCORE', P .. ':eo', '-inf', '(' .. whole(before_at), 'LIMIT', passed, limit - removed)
    for _, id in ipairs(ids) do
      local e = events.get(id)
      if is_held(e) then
        passed = passed + 1
      else
        events.remove(e)
        removed = removed + 1
      end
    end
    if #ids == 0 then return removed end
  end
  return removed
end
`;
