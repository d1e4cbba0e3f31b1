/** The Lua files of this folder. Written by `npm run lua`; do not edit. */
export const LUA = {
  /** `apply-event.lua` */
  applyEvent: `-- Events and waiters. Mirrors rules/apply-event.ts; its invariants hold here too.
--
-- Keys: \`e:\` an event, \`pe:\` the pending events of a topic by how they are consumed, \`ex\` pending events by expiry, \`eo\` ended events by time.

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

-- Writes an event. \`was\` is whether it was pending before, or nil if the event is new.
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

-- The oldest pending event of the topic, with a number above \`after\`, that a run created at this time may receive.
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
`,
  /** `apply-post.lua` */
  applyPost: `-- Posts to a run. Mirrors rules/deliver.ts and rules/apply-post.ts.

local wakes, wake_order = {}, {}

-- Adds a run to the reply's wakes. The wake contains the entries that woke the run, or false if the run must read its inbox.
local function wake(h, entry)
  local id = h[ID]
  local w = wakes[id]
  if not w then
    w = { id, false, 0, entry and {} or false }
    wakes[id] = w
    wake_order[#wake_order + 1] = id
  end
  w[2], w[3] = h[OWNER], h[EPOCH]
  if not entry then w[4] = false elseif w[4] then w[4][#w[4] + 1] = entry end
end

-- Wakes a run without an owner if it can be claimed at once.
local function wake_claimable(h)
  if not h[OWNER] and h[WAKE_AT] and h[WAKE_AT] <= now then wake(h, nil) end
end

local function is_awaited(h, e)
  if e[1] == 'event' or e[1] == 'cancel' then return true end
  local awaited = runs.awaited(h)
  if not awaited then return false end
  if e[1] == 'child' then return awaited[1] end
  for i = 2, #awaited do if awaited[i] == e[3] then return true end end
  return false
end

-- Whether the wait in the row is still open: a run that is due or executed may have left it.
local function completes_wait(h)
  return h[STATUS] == 'suspended' and (not h[WAKE_AT] or h[WAKE_AT] > now)
end

-- Adds an entry to the inbox of an open run. A run that waits for it becomes ready and is no waiter any more; a run that was already
-- due keeps its position. \`again\` also adds an entry that the run had and returned when it ended, or received before. The answer is
-- 'delivered' only if the entry completes a wait.
function deliver_entry(h, e, again)
  local n = h[INBOX_LAST] + 1
  if not inbox.add(h, n, e) and not (again and inbox.restore(h, n, e)) then return { 'duplicate' } end
  runs.touch(h)
  h[INBOX_LAST] = n
  if not is_awaited(h, e) then return { 'queued' } end
  topics.leave(h)
  local completes = completes_wait(h)
  h[WAKE_AT] = h[WAKE_AT] and math.min(h[WAKE_AT], now) or now
  wake(h, { n, e[1], e[2], e[3], e[4], e[5], e[6], e[7] })
  return completes and { 'delivered', 1 } or { 'queued' }
end

local function is_pause_request(kind, id) return kind == 'cancel' and string.sub(id, 1, 6) == 'pause:' end

-- A known id is a duplicate even after the run has ended, so that a resent post gets the answer of a received one. A child that was
-- reopened ends again.
local function post_entry(to, e)
  local h = runs.head(to)
  if not h then return { 'targetNotFound' } end
  -- A run that is paused already needs no request to pause. It would make the run claimable.
  if h[STATUS] == 'paused' and is_pause_request(e[1], e[2]) then return { 'duplicate' } end
  if not is_terminal(h[STATUS]) then return deliver_entry(h, e, e[1] == 'child') end
  if inbox.knows(to, e[1], e[2]) then return { 'duplicate' } end
  return { 'targetTerminated', h[STATUS] }
end

local ESCAPES = { ['%'] = '%25', ['/'] = '%2F', ['~'] = '%7E', ['#'] = '%23' }
function name_segment(name) return (string.gsub(name, '[%%/~#]', ESCAPES)) end
local function origin_id(to, id) return name_segment(to) .. '//' .. name_segment(id) end

local function bury_message(to, e, reason, status)
  letters.insert({ origin_id(to, e[2]), 'message', to, e[3], e[4], reason, status, e[6], now, e[2] })
end

local BROADCAST_EXPIRE_MS = 7 * 24 * 60 * 60 * 1000
local BROADCAST_PENDING_MAX = 10000

local function broadcast_message(to, e)
  local id, expire, topic = origin_id(to, e[2]), now + BROADCAST_EXPIRE_MS, e[3]
  if is_local(topic) then
    events.apply({
      id = id, topic = topic, value = e[4], at = e[6], expire = expire,
      deliver = 'all', consume = 'one', max = BROADCAST_PENDING_MAX,
    })
  else
    send(partition_of(topic), {
      'event', topic, id, e[4], whole(e[6]), whole(expire), 'all', 'one', whole(BROADCAST_PENDING_MAX),
    })
  end
end

local function post_message(post)
  local e = post.entry
  local answer = post_entry(post.to, e)
  if answer[1] == 'targetNotFound' then
    if post.by_run then bury_message(post.to, e, 'targetNotFound', false) end
  elseif answer[1] == 'targetTerminated' then
    if e[7] == 'broadcast' then
      broadcast_message(post.to, e)
    elseif e[7] == 'deadLetter' or post.by_run then
      bury_message(post.to, e, 'targetTerminated', answer[2])
    end
  end
  return answer
end

-- Settles an inbox entry that the run had not received when it ended.
local function settle_leftover(h, e)
  if e[1] == 'event' then
    events.return_event(h[ID], h[STATUS], e)
  elseif e[1] == 'message' and e[7] == 'broadcast' then
    broadcast_message(h[ID], e)
  elseif e[1] == 'message' and e[7] == 'deadLetter' then
    bury_message(h[ID], e, 'targetTerminated', h[STATUS])
  end
end

local function create(run, history)
  local id, owner = run.id, run.owner
  if runs.head(id) then return false end
  local h = {
    0, id, run.workflow, run.version, run.start_id, run.created, owner and 'running' or 'pending', 1, 0, owner,
    not owner and run.start_at, 0, 0, 0, 0, 0, owner and run.created, false,
    history and history.undo or 'none', false, 0, false, run.parent, run.on_close, 0,
  }
  local life = history and history.life
  if life then
    h[STARTED_AT], h[GENERATION], h[BASE_SEQ], h[DROPPED] = life.started, life.generation, life.base, life.base
  end
  local ending = life and life.ending
  if ending then h[STATUS], h[ENDED_AT], h[WAKE_AT] = ending.status, ending.at, false end
  runs.insert(run, h)
  if ending then runs.set(h, 'o', ending.outcome) end
  if history then
    if #history.records > 0 then journal.add(h, history.records, life and life.seqs) end
    for _, e in ipairs(history.inbox) do
      if inbox.add(h, h[INBOX_LAST] + 1, e) then h[INBOX_LAST] = h[INBOX_LAST] + 1 end
    end
  end
  if owner then workers.register(owner) end
  wake_claimable(h)
  return true
end

-- Defined in apply.lua.
local finish

-- A child that has not started ends at once: it has nothing to roll back, and perhaps no worker has its workflow.
local function cancel_unstarted(child, post)
  runs.touch(child)
  child[EPOCH], child[TURN] = child[EPOCH] + 1, 0
  finish(child, { status = 'cancelled', outcome = post.reason, at = post.at })
end

local function close_children(post)
  if call('EXISTS', P .. ':cx:' .. post.of, P .. ':ch:' .. post.of) == 0 then return { 'queued' } end
  for _, partition in ipairs(call('SMEMBERS', P .. ':cx:' .. post.of)) do
    send(tonumber(partition), { 'closeChildren', post.of, post.reason, whole(post.at), post.is_end and '1' or '0' })
  end
  for _, child in ipairs(runs.children(post.of)) do
    if child[ON_CLOSE] == 'cancel' and not is_terminal(child[STATUS]) then
      if post.is_end and child[STATUS] == 'pending' and not child[STARTED_AT] and child[UNDO] == 'none' then
        cancel_unstarted(child, post)
      else
        -- A child that was reopened with its parent is closed again.
        local entry = { 'cancel', 'close:' .. post.of, '', post.reason, false, post.at, 'discard' }
        deliver_entry(child, entry, child[STATUS] ~= 'compensating')
      end
    end
  end
  return { 'queued' }
end

-- The run or topic that determines the partition of a post. Nil for \`closeChildren\`: children may be in any partition.
local function target_of(post)
  if post.kind == 'event' then return post.event.topic end
  return post.kind == 'start' and post.run.id or post.to
end

local function apply_post(post)
  local target = PARTITIONS > 1 and target_of(post)
  if target and not is_local(target) then
    if post.kind == 'start' and post.run.parent then call('SADD', P .. ':cx:' .. post.run.parent, partition_of(target)) end
    send(partition_of(target), post.words)
    return { 'queued' }
  end
  if post.kind == 'message' then return post_message(post) end
  if post.kind == 'event' then return events.apply(post.event) end
  if post.kind == 'entry' then return post_entry(post.to, post.entry) end
  if post.kind == 'start' then return { create(post.run, post.history) and 'queued' or 'duplicate' } end
  return close_children(post)
end
`,
  /** `apply.lua` */
  apply: `-- Applies transitions to the rows: guards first, then writes. Mirrors rules/apply.ts and rules/apply-state.ts.

local function leave_topics(h)
  if h[TOPICS] > 0 then topics.leave(h) end
end

-- Checks and waits in one commit. If an entry arrived since the decision, the run is ready at once. Otherwise a pending event of one of
-- its topics makes it ready, or the run becomes a waiter.
local function suspend(h, state)
  local wait = state.wait
  local wanted = wait and wait.topics or {}
  if h[INBOX_LAST] <= state.seen and #wanted > 0 then h[INBOX_LAST] = events.deliver_pending(h, wanted) end
  h[STATUS] = h[UNDO] == 'underWay' and 'compensating' or state.status
  if state.status == 'suspended' then h[CLAIMS] = 0 end
  if h[INBOX_LAST] > state.seen then
    leave_topics(h)
    h[WAKE_AT] = now
    wake(h, nil)
  else
    if #wanted > 0 then topics.subscribe(h, wanted) else leave_topics(h) end
    h[WAKE_AT] = wait and wait['until']
  end
  runs.set_wait(h, wait)
  -- The run was freed, so any worker may execute it.
  if not h[OWNER] and is_working(h) then h[WAKE_AT] = now end
end

-- A resume withdraws the requests to pause that the run has not received.
local function withdraw_pauses(h)
  if h[INBOX_LAST] == 0 then return end
  for _, e in ipairs(inbox.open(h[ID])) do
    if is_pause_request(e[2], e[3]) then inbox.take(h[ID], e[1]) end
  end
end

-- A worker that gives a run back did not crash, so its claim does not count. Earlier ones do, unless the run has made progress since.
local function claims_after_release(h)
  return journal.newest(h) > h[CLAIM_SEQ] and 0 or math.max(0, h[CLAIMS] - 1)
end

local function release(h, state)
  leave_topics(h)
  if state.status ~= 'released' then withdraw_pauses(h) end
  if state.status == 'reopened' then
    h[ENDED_AT], h[UNDO], h[VERSION] = false, state.undo, state.version or h[VERSION]
  end
  h[CLAIMS] = state.status == 'released' and claims_after_release(h) or 0
  h[STATUS], h[OWNER], h[WAKE_AT] = working_status(h), false, state.at
  if state.status ~= 'released' then runs.set(h, 'o', '-') end
  runs.set_wait(h, false)
  wake_claimable(h)
end

-- Appends the record after which the program receives nothing. The worker that claims the run compensates the records before it.
local function stop(h, state)
  leave_topics(h)
  journal.add(h, { state.record })
  h[UNDO], h[STATUS], h[OWNER], h[CLAIMS], h[WAKE_AT] = 'underWay', 'compensating', false, state.claims, state.at
  -- The record is no progress of the run: the claims stay counted.
  h[CLAIM_SEQ] = journal.newest(h)
  runs.set(h, 'o', '-')
  runs.set_wait(h, false)
  wake_claimable(h)
end

local function pause(h, state)
  leave_topics(h)
  h[STATUS], h[OWNER], h[WAKE_AT] = 'paused', false, false
  runs.set(h, 'o', state.reason)
  runs.set_wait(h, false)
end

local function restart(h, state)
  leave_topics(h)
  journal.cut(h, state.base)
  documents.remove('snapshot', h[ID])
  h[UNDO], h[WORKFLOW], h[VERSION], h[STATUS] = 'none', state.workflow, state.version, 'running'
  h[WAKE_AT] = not h[OWNER] and state.at
  h[GENERATION], h[CLAIMS], h[STARTED_AT] = h[GENERATION] + 1, 0, state.at
  runs.set(h, 'i', state.input)
  runs.set_wait(h, false)
  wake_claimable(h)
end

-- Starts an ended run again. The epoch, the generation and the seqs continue, so nothing of the ended generation fits the new one.
local function start_again(h, state)
  local run = state.run
  journal.cut(h, state.base)
  documents.remove('snapshot', h[ID])
  h[UNDO], h[STATUS], h[WAKE_AT], h[CLAIMS] = 'none', 'pending', run.start_at, 0
  h[GENERATION], h[STARTED_AT], h[ENDED_AT] = h[GENERATION] + 1, false, false
  runs.set(h, 'o', '-')
  runs.set_wait(h, false)
  runs.set_start(h, run)
  wake_claimable(h)
end

function finish(h, state)
  leave_topics(h)
  h[STATUS], h[ENDED_AT], h[OWNER], h[WAKE_AT] = state.status, state.at, false, false
  runs.set(h, 'o', state.outcome)
  runs.set_wait(h, false)
  if h[INBOX_LAST] == 0 then return end
  local leftovers = inbox.open(h[ID])
  for _, e in ipairs(leftovers) do inbox.take(h[ID], table.remove(e, 1)) end
  for _, e in ipairs(leftovers) do settle_leftover(h, e) end
end

local STATES = {
  running = suspend, suspended = suspend, released = release, resumed = release, reopened = release, compensating = stop, paused = pause,
  continued = restart, restarted = start_again, completed = finish, failed = finish, cancelled = finish,
}

local function apply_documents(changes)
  for _, change in ipairs(changes) do
    if change.put then documents.put(change.put)
    elseif change.create then documents.create(change.create)
    elseif change.marks then documents.mark(change.kind, change.id, change.marks)
    else documents.remove(change.kind, change.id) end
  end
end

local NOT_FOUND = { 'notFound' }
local APPLIED, AGAIN = 0, 1

local function apply_create(run, history)
  if create(run, history) then
    if run.parent and not is_local(run.parent) then send(partition_of(run.parent), { 'child', run.parent, whole(PARTITION) }) end
    return APPLIED
  end
  local h = runs.head(run.id)
  if h[START_ID] == run.start_id then return AGAIN end
  return { 'exists', h[STATUS], h[EPOCH] }
end

-- Turns and seqs of one epoch only grow. So a turn or seq that is already stored was written by this same transition.
local function is_again(h, t)
  if t.state then return h[TURN] >= t.turn end
  return #t.records > 0 and t.first <= journal.newest(h)
end

local function guard_append(h, t)
  if not h then return NOT_FOUND end
  if h[EPOCH] ~= t.epoch then return { 'fenced', h[EPOCH] } end
  if is_again(h, t) then return AGAIN end
  if is_terminal(h[STATUS]) then return { 'terminal', h[STATUS] } end
  if t.inbox and h[INBOX_LAST] ~= t.inbox then return { 'inbox', h[INBOX_LAST] } end
  if t.not_before and t.not_before > now then return { 'early', now } end
  if #t.records > 0 and t.first ~= journal.newest(h) + 1 then return { 'gap', journal.newest(h) } end
  return nil
end

local function apply_append(t)
  local h = runs.head(t.run_id)
  local refusal = guard_append(h, t)
  if refusal then return refusal end
  if #t.records > 0 then journal.append(h, t.records) end
  for _, range in ipairs(t.trim) do journal.trim(h, range[1], range[2]) end
  for _, n in ipairs(t.taken) do inbox.take(h[ID], n) end
  apply_documents(t.documents)
  if t.state or t.undo then
    runs.touch(h)
    h[UNDO] = t.undo or h[UNDO]
    if t.state then
      h[TURN] = t.turn
      if t.state.status == 'failed' or t.state.status == 'cancelled' then documents.close_of(h[ID]) end
      STATES[t.state.status](h, t.state)
    end
  end
  for _, post in ipairs(t.posts) do apply_post(post) end
  return APPLIED
end

local function append_plain(t)
  local h = runs.head(t.run_id)
  local refusal = guard_append(h, t)
  if not refusal then journal.append(h, t.records) end
  return refusal or APPLIED
end

local function restore_entry(h, e)
  if inbox.restore(h, h[INBOX_LAST] + 1, e) then h[INBOX_LAST] = h[INBOX_LAST] + 1 end
end

-- Restored entries arrived before the current ones, so the current ones move behind them.
local function restore_entries(h, restore)
  local before, waiting = h[INBOX_LAST], inbox.open(h[ID])
  for _, e in ipairs(restore) do restore_entry(h, e) end
  if h[INBOX_LAST] == before then return end
  for _, e in ipairs(waiting) do
    inbox.take(h[ID], table.remove(e, 1))
    restore_entry(h, e)
  end
end

-- Cuts the journal, appends records, and returns to the inbox the entries that the dropped records received. A snapshot may contain
-- state from after the cut, so it is deleted.
local function change_journal(h, change)
  if change.cut_after then
    journal.cut_after(h, change.cut_after)
    documents.remove('snapshot', h[ID])
  end
  if #change.add > 0 then journal.add(h, change.add) end
  if #change.restore > 0 then restore_entries(h, change.restore) end
end

-- Control states that close a run's open documents. A program that completes closes them itself.
local CLOSING = { reopened = true, compensating = true, failed = true, cancelled = true }

local function apply_control(t)
  local h = runs.head(t.run_id)
  if not h then return NOT_FOUND end
  if h[CONTROL_ID] == t.control_id then return AGAIN end
  if is_terminal(h[STATUS]) and t.state.status ~= 'reopened' and t.state.status ~= 'restarted' then return { 'terminal', h[STATUS] } end
  if h[EPOCH] ~= t.epoch or (t.undo and h[UNDO] ~= t.undo) then return { 'fenced', h[EPOCH] } end
  if t.state.status == 'restarted' and not is_terminal(h[STATUS]) then return { 'moved', journal.newest(h), h[STATUS] } end
  local change = t.journal
  if change and change.seen and (journal.newest(h) ~= change.seen or h[STATUS] ~= change.status) then
    return { 'moved', journal.newest(h), h[STATUS] }
  end
  runs.touch(h)
  h[EPOCH], h[TURN], h[OWNER], h[CONTROL_ID] = h[EPOCH] + 1, 0, false, t.control_id
  if change then change_journal(h, change) end
  if CLOSING[t.state.status] then documents.close_of(h[ID]) end
  STATES[t.state.status](h, t.state)
  for _, post in ipairs(t.posts) do apply_post(post) end
  return APPLIED
end

local function answer_post(post)
  local answer = apply_post(post)
  return { 'post', answer[1] == 'duplicate' and 1 or 0, answer[1], answer[2] or false }
end

-- Compares and sets a document. If the stored one equals the new one, this same transition was applied before: no two revisions are
-- equal.
local function apply_revise(seen, document, post)
  local found = documents.get(document[1], document[2])
  if found and documents.is_same(found, document) then return AGAIN end
  if found and not (seen and documents.is_same(found, seen)) or not found and seen then return { 'changed' } end
  if post and is_local(post.to) then
    local h = runs.head(post.to)
    if not h then return NOT_FOUND end
    if is_terminal(h[STATUS]) then return { 'terminal', h[STATUS] } end
  end
  documents.put(document)
  if post then apply_post(post) end
  return APPLIED
end

local function is_known(post)
  if post.kind == 'event' then return call('EXISTS', P .. ':e:' .. post.event.id) == 1 end
  return runs.head(post.to) and inbox.knows(post.to, post.entry[1], post.entry[2])
end

-- Removes a dead letter, and posts it again if \`post\` is set. The id of an event is deleted with its letter, so that it can be posted
-- again. If the letter is gone but its post is known, this same transition was applied before.
local function apply_letter(t)
  local letter = letters.get(t.id)
  if not letter then return t.post and is_known(t.post) and answer_post(t.post) or NOT_FOUND end
  letters.remove(letter)
  local e = letter[2] == 'event' and events.get(letter[10])
  if e and not e.pending and not e.holder then events.remove(e) end
  return t.post and answer_post(t.post) or APPLIED
end
`,
  /** `claim.lua` */
  claim: `-- Claims, heartbeats and pruning. Mirrors rules/claim.ts and rules/prune.ts.

local FREED_MAX = 1000

-- Due runs of these workflow versions without an owner: those due longest first, or those due shortest.
local function claimable(workflows, limit, newest)
  local found = {}
  for _, workflow in ipairs(workflows) do
    local key = P .. ':df:' .. workflow
    local rows = newest and call('ZREVRANGEBYSCORE', key, whole(now), '-inf', 'LIMIT', 0, limit)
      or call('ZRANGEBYSCORE', key, '-inf', whole(now), 'LIMIT', 0, limit)
    for _, member in ipairs(rows) do found[#found + 1] = runs.head(string.sub(member, ORDERED_LENGTH + 1)) end
  end
  if #workflows > 1 then
    table.sort(found, function(a, b)
      if newest then a, b = b, a end
      if a[WAKE_AT] ~= b[WAKE_AT] then return a[WAKE_AT] < b[WAKE_AT] end
      return a[KEY] < b[KEY]
    end)
  end
  while #found > limit do found[#found] = nil end
  return found
end

-- The suspects of the next group, as a set: half of those that were freed together, or the first if it is a lone suspect and the worker
-- is idle. Also returns the claims from which other runs are skipped: beside a lone suspect, all.
local function group_of(found, request)
  local others, group, first = {}, {}, nil
  for _, h in ipairs(found) do
    if h[CLAIMS] == request.claims or (request.idle and not request.max and h[CLAIMS] > request.claims) then
      first = first or h
      if h[CLAIMS] == request.claims and (request.max or h[WAKE_AT] == first[WAKE_AT]) then others[#others + 1] = h end
    end
  end
  if first and first[CLAIMS] > request.claims then return { [first] = true }, 0 end
  local size = math.min(request.limit, request.max or math.max(1, math.floor(#others / 2)), #others)
  for i = 1, size do group[others[i]] = true end
  return group, request.claims
end

-- Chooses the due runs to claim, with the suspects of the next group. Reads further, so that skipped runs hide no other run. Also
-- returns the number of suspects.
local function choose(request)
  local read_max = request.limit
  while true do
    local found = claimable(request.workflows, read_max, request.newest)
    local group, skipped_from
    if request.claims then group, skipped_from = group_of(found, request) end
    local chosen, suspects = {}, 0
    for _, h in ipairs(found) do
      local is_in_group = group and group[h]
      if #chosen < request.limit and (not group or is_in_group or h[CLAIMS] < skipped_from) then
        chosen[#chosen + 1] = h
        if is_in_group then suspects = suspects + 1 end
      end
    end
    if #chosen == request.limit or #found < read_max then return chosen, suspects end
    read_max = read_max * 2
  end
end

local function claim()
  local worker = arg()
  local request = { limit = num(), claims = num_or_null(), held = num_or_null(), max = num_or_null(), idle = arg() == '1',
    newest = arg() == '1', workflows = list() }
  local chosen, suspects = choose(request)
  if #chosen > 0 then workers.register(worker) end
  local is_alone, is_suspect = request.held == 0 and suspects == 1, {}
  for i, h in ipairs(chosen) do
    runs.touch(h)
    local newest = journal.newest(h)
    is_suspect[i] = request.claims and h[CLAIMS] >= request.claims
    local counts = not is_suspect[i] or is_alone
    h[CLAIMS] = newest > h[CLAIM_SEQ] and 1 or h[CLAIMS] + (counts and 1 or 0)
    h[CLAIM_SEQ] = newest
    h[STATUS], h[EPOCH], h[TURN], h[OWNER], h[WAKE_AT] = working_status(h), h[EPOCH] + 1, 0, worker, false
    h[STARTED_AT] = h[STARTED_AT] or now
    if h[STATUS] == 'compensating' then runs.set_wait(h, false) end
  end
  runs.flush()
  local claimed = {}
  for i, h in ipairs(chosen) do claimed[i] = { runs.get(h[ID]), is_suspect[i] and 1 or 0 } end
  return { now, claimed }
end

-- Removes the owner. A suspended run keeps waiting; a working one becomes claimable now. The epoch stays: until another worker claims
-- the run, its last owner may append to it. A run that made progress since it was claimed is no suspect.
local function release_run(id)
  local h = runs.head(id)
  runs.touch(h)
  local is_suspended = h[STATUS] ~= 'paused' and h[STATUS] ~= 'pending' and not is_working(h)
  h[OWNER] = false
  if h[CLAIMS] > 0 and journal.newest(h) > h[CLAIM_SEQ] then h[CLAIMS] = 0 end
  if not is_suspended then h[WAKE_AT] = now end
end

local function release_some(worker, limit)
  local released = 0
  for _, set in ipairs({ ':hl:', ':o:' }) do
    local ids = released < limit and call('ZRANGE', P .. set .. worker, 0, limit - released - 1) or {}
    for _, id in ipairs(ids) do release_run(id) end
    released = released + #ids
  end
  runs.flush()
  return released
end

local function release_all(worker)
  local freed = 0
  while true do
    local some = release_some(worker, FREED_MAX)
    freed = freed + some
    if some < FREED_MAX then return freed end
  end
end

-- Makes the worker the owner of its run again, in the same epoch, if the run was freed and not claimed since. If it was claimed through
-- no fault of its own, that claim is not counted.
local function take_back(worker, id, epoch, is_blameless)
  local h = runs.head(id)
  if not h or is_terminal(h[STATUS]) then return end
  if h[EPOCH] == epoch and not h[OWNER] and is_working(h) then
    runs.touch(h)
    h[OWNER], h[WAKE_AT] = worker, false
  elseif h[EPOCH] > epoch and is_blameless and h[CLAIMS] > 0 then
    runs.touch(h)
    h[CLAIMS] = h[CLAIMS] - 1
  end
end

local function heartbeat()
  local worker, lease, workflows = arg(), num(), text_or_null()
  local expires = call('ZSCORE', P .. ':wk', worker)
  local alive = expires and tonumber(expires) > now
  call('ZADD', P .. ':wk', whole(now + lease), worker)
  if workflows then call('HSET', P .. ':wf', worker, workflows) end
  for _ = 1, num() do take_back(worker, arg(), num(), arg() == '1') end
  runs.flush()
  local freed = 0
  for _, dead in ipairs(call('ZRANGEBYSCORE', P .. ':wk', '-inf', whole(now), 'LIMIT', 0, FREED_MAX)) do
    if freed >= FREED_MAX then break end
    freed = freed + release_some(dead, FREED_MAX - freed)
    if call('EXISTS', P .. ':o:' .. dead, P .. ':hl:' .. dead) == 0 then workers.remove(dead) end
  end
  return { now, alive and 1 or 0, freed, owned_by(worker), next_due(worker, list()), next_expiry(worker) }
end

local function retire()
  local worker = arg()
  release_all(worker)
  workers.remove(worker)
  return { now }
end

-- An ancestor that was continued since it started the descendant does not count: its journal does not refer to it any more.
local function has_open_ancestor(h)
  while h[PARENT] do
    local parent = runs.head(h[PARENT])
    if not parent or h[CREATED_AT] < (parent[STARTED_AT] or 0) then return false end
    if not is_terminal(parent[STATUS]) then return true end
    h = parent
  end
  return false
end

local ENDED_READ = 100

-- Ended runs of a status that may be deleted, oldest first. Runs of equal age are all read, because the caller sorts them by number.
local function ended(status, ended_before, limit)
  local found, offset, last = {}, 0, nil
  while true do
    local rows = call('ZRANGE', P .. ':le:' .. status, offset, offset + ENDED_READ - 1, 'WITHSCORES')
    for i = 1, #rows, 2 do
      if #found >= limit and rows[i + 1] ~= last then return found end
      last = rows[i + 1]
      local h = runs.head(rows[i])
      local removable = h[ENDED_AT] < ended_before and call('EXISTS', P .. ':ch:' .. h[ID]) == 0
      if removable and not has_open_ancestor(h) then found[#found + 1] = h end
    end
    if #rows < 2 * ENDED_READ then return found end
    offset = offset + ENDED_READ
  end
end

local function remove_ended(statuses, ended_before, limit)
  local all = {}
  for _, status in ipairs(statuses) do
    local found = ended(status, ended_before, limit - #all)
    table.sort(found, function(a, b)
      if a[CREATED_AT] ~= b[CREATED_AT] then return a[CREATED_AT] < b[CREATED_AT] end
      return a[KEY] < b[KEY]
    end)
    for _, h in ipairs(found) do if #all < limit then all[#all + 1] = h end end
  end
  for _, h in ipairs(all) do runs.remove(h) end
  return #all
end

local function prune()
  local ended_before, statuses, received_before, letters_before, limit =
    num_or_null(), list(), num_or_null(), num_or_null(), num()
  local removed = 0
  while ended_before and removed < limit do
    local some = remove_ended(statuses, ended_before, limit - removed)
    if some == 0 then break end
    removed = removed + some
  end
  local expired = call('ZRANGEBYSCORE', P .. ':ex', '-inf', whole(now), 'LIMIT', 0, limit)
  for _, member in ipairs(expired) do events.end_pending(events.get(string.sub(member, ORDERED_LENGTH + 1)), 'expired') end
  local forgotten = 0
  if received_before then
    forgotten = inbox.forget_before(received_before, limit)
    if forgotten < limit then forgotten = forgotten + events.remove_before(received_before, limit - forgotten) end
  end
  local letters_gone = letters_before and letters.remove_before(letters_before, limit) or 0
  return { now, removed, forgotten, #expired, letters_gone }
end

-- Gives each opened store its own number.
local function join() return { call('HINCRBY', P .. ':c', 'store', 1) } end

local OPERATIONS = {
  join = join, claim = claim, heartbeat = heartbeat, retire = retire, prune = prune, deliver = deliver,
  acknowledge = acknowledge, remove = remove_named,
}
return OPERATIONS[ARGV[1]]()
`,
  /** `outbox.lua` */
  outbox: `-- Messages of this partition to others. A partition has one outbox for each other partition. A message is in the outbox from its commit
-- until the other partition has received it. The numbers of an outbox only grow, even if a server restarts with older data, and the
-- receiver stores the last number. So each message takes effect once, in order.
--
-- Keys: \`ob:\` the outbox for a partition. \`c\` has the number of the last message.

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
`,
  /** `partition-arrivals.lua` */
  partitionArrivals: `-- Messages from other partitions: posts, and the exchange between runs and topics of different partitions. A run subscribes to a topic
-- (\`subscribe\`) and unsubscribes (\`leave\`). The topic delivers an event to the run (\`hand\`). A run that does not wait any more returns
-- the event (\`return\`).
--
-- Keys: \`hw\`, by partition, the number of the last message received from it.

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
`,
  /** `partition-reads.lua` */
  partitionReads: `-- Reads for other partitions: outboxes that are not empty, and runs that retention may delete.

local ENDED_READ = 200
local OUTBOX_READ = 100
local partition_reads = {}

function partition_reads.outbox()
  local found = {}
  for partition = 0, tonumber(ARGV[5]) - 1 do
    local messages = call('ZRANGE', P .. ':ob:' .. partition, 0, OUTBOX_READ - 1)
    if #messages > 0 then found[#found + 1] = { partition, messages } end
  end
  return found
end

-- Runs of a status that ended before a time. Reads at most ENDED_READ runs from this rank on, oldest first. Returns the rank to continue
-- from, or false at the end. The end is also the first run that was created at or after the time: it has not ended before it.
function partition_reads.ended()
  local status, ended_before, offset = arg(), num(), num()
  local rows = call('ZRANGE', P .. ':le:' .. status, offset, offset + ENDED_READ - 1, 'WITHSCORES')
  local found = {}
  for i = 1, #rows, 2 do
    if tonumber(rows[i + 1]) >= ended_before then return { found, false } end
    local h = runs.head(rows[i])
    if h[ENDED_AT] < ended_before then
      found[#found + 1] = { h[ID], h[PARENT], h[CREATED_AT] }
    end
  end
  return { found, #rows == 2 * ENDED_READ and offset + ENDED_READ }
end

-- Those of these runs that have children in this partition.
function partition_reads.parents()
  local found = {}
  for _, id in ipairs(list()) do if call('EXISTS', P .. ':ch:' .. id) == 1 then found[#found + 1] = id end end
  return found
end

-- The fields of an ancestor that retention needs: parent, created at, started at, status. False if the run does not exist.
function partition_reads.ancestor()
  local h = runs.head(arg())
  return h and { h[PARENT], h[CREATED_AT], h[STARTED_AT], h[STATUS] }
end
`,
  /** `plain-appends.lua` */
  plainAppends: `-- The fast path: appends of only records that follow no other change of their run in the batch. One command reads their guards, and each
-- append costs one more. If the journal has an unexpected length after the push, the push is undone.
--
-- This part comes before the functions that other cases need: defining those takes longer than appending a record.

-- How many seqs have no record. False if the guard is missing or has another epoch.
local function dropped_of(guard, epoch)
  if guard == epoch then return 0 end
  local start = epoch .. ':'
  return guard and string.sub(guard, 1, #start) == start and tonumber(string.sub(guard, #start + 1))
end

-- Pushes the next \`count\` arguments, and returns the newest seq.
local function push_args(id, dropped, count)
  local key = P .. ':j:' .. id
  if count == 1 then return call('RPUSH', key, args[at + 1]) + dropped end
  local length
  for first = 1, count, ARGS_MAX do
    length = call('RPUSH', key, unpack(args, at + first, at + math.min(first + ARGS_MAX - 1, count)))
  end
  return length + dropped
end

-- Returns false, without a write, if the guard or the length of the journal does not match.
local function try_push(id, guard, epoch, last, count)
  local dropped = dropped_of(guard, epoch)
  if not dropped then return false end
  if push_args(id, dropped, count) == last then return true end
  call('LTRIM', P .. ':j:' .. id, 0, -count - 1)
  return false
end

-- Returns the appends that were not pushed, each with its position. \`append_plain\` applies or refuses them by the head.
local function push_plain()
  local count, failed = num(), {}
  local ids, guards, first = at, nil, 0
  at = at + count
  local done, group_end, epoch, pushed = 0, 0, nil, 0
  while done < count do
    if done == group_end then
      epoch, pushed = arg(), num()
      group_end = done + num()
    end
    if done % ARGS_MAX == 0 then
      first = done
      guards = call('HMGET', P .. ':g', unpack(args, ids + done + 1, ids + math.min(done + ARGS_MAX, count)))
    end
    done = done + 1
    local id, last = args[ids + done], num()
    if try_push(id, guards[done - first], epoch, last, pushed) then
      at = at + pushed
    else
      local t = { run_id = id, epoch = tonumber(epoch), first = last - pushed + 1, records = {} }
      for k = 1, pushed do t.records[k] = arg() end
      failed[#failed + 1] = { done, t }
    end
  end
  return failed
end

local unpushed = {}
if ARGV[1] == 'commit' then
  unpushed = push_plain()
  if #unpushed == 0 and args[at + 1] == '0' then return { now, {}, {}, {}, {} } end
end
`,
  /** `prelude.lua` */
  prelude: `-- The start of both scripts: arguments, the time, and the packing of rows.
--
-- ARGV[1] is the operation. ARGV[2] is the time, or empty for the server's time. ARGV[3] is the caller. ARGV[4] is the index of this
-- partition, ARGV[5] the number of partitions. A nullable text is passed as \`-\`, or as \`=\` and the text; payloads are stored in that
-- form. A nullable number is passed as an empty text. A packed row has \`false\` for null, which is a null in a reply.

local P = KEYS[1]
local call, pack, unpacked = redis.call, cmsgpack.pack, cmsgpack.unpack
local args, at = ARGV, 5
-- The maximum number of arguments of one command. Even, so that pairs stay together.
local ARGS_MAX = 1000

local function arg()
  at = at + 1
  return args[at]
end
local function num() return tonumber(arg()) end
local function num_or_null()
  local a = arg()
  return a ~= '' and tonumber(a)
end
local function text_or_null()
  local a = arg()
  return a ~= '-' and string.sub(a, 2)
end
local function list()
  local items = {}
  for i = 1, num() do items[i] = arg() end
  return items
end

local now
if ARGV[2] == '' then
  local time = call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
else
  now = tonumber(ARGV[2])
end

local function is_terminal(status)
  return status == 'completed' or status == 'failed' or status == 'cancelled'
end

local function whole(n) return string.format('%.0f', n) end

-- Zero-padded, so that members with equal scores sort by number.
local function ordered(n, id) return string.format('%016.0f', n) .. id end
local ORDERED_LENGTH = 16

local heads = {}
local deliver_entry, name_segment
local runs, journal, inbox, topics, events, letters, documents, workers = {}, {}, {}, {}, {}, {}, {}, {}

function runs.head(id)
  local h = heads[id]
  if h == nil then
    local row = call('HGET', P .. ':r:' .. id, 'h')
    h = row and unpacked(row)
    heads[id] = h
  end
  return h
end

-- A whole run, as replies contain it: head, facts, input, outcome, wait.
function runs.get(id)
  local row = call('HMGET', P .. ':r:' .. id, 'h', 'f', 'i', 'o', 'w')
  if not row[1] then return false end
  return { unpacked(row[1]), row[2], row[3], row[4], row[5] }
end

function runs.list_key(status)
  if is_terminal(status) then return P .. ':le:' .. status end
  return P .. ':lo'
end

function runs.due_key(owner, workflow, version)
  if owner then return P .. ':do:' .. owner end
  return P .. ':df:' .. whole(version) .. ':' .. workflow
end

-- A record is a JSON array whose first item is its seq.
function journal.seq(record) return tonumber(string.match(record, '%d+')) end

-- The head counts the seqs without a record, so the length of the list gives the newest seq. The base seq if there is no record.
function journal.newest_seq(h) return call('LLEN', P .. ':j:' .. h[ID]) + h[DROPPED] end

-- The records after this seq. Seqs only grow, so at most \`newest - seq\` records follow.
function journal.tail(h, newest, seq)
  if newest <= seq then return {} end
  local tail, kept = call('LRANGE', P .. ':j:' .. h[ID], seq - newest, -1), {}
  for _, record in ipairs(tail) do
    if journal.seq(record) > seq then kept[#kept + 1] = record end
  end
  return kept
end

-- The entries that the run has not received, in order of arrival.
function inbox.open(id)
  local rows = call('HGETALL', P .. ':b:' .. id)
  local entries = {}
  for i = 1, #rows, 2 do
    local e = unpacked(rows[i + 1])
    table.insert(e, 1, tonumber(rows[i]))
    entries[#entries + 1] = e
  end
  table.sort(entries, function(a, b) return a[1] < b[1] end)
  return entries
end

-- The same entries, from after this number on. Does not read the others.
function inbox.after(h, after)
  if after == 0 then return h[INBOX_LAST] > 0 and inbox.open(h[ID]) or {} end
  local entries = {}
  for n = after + 1, h[INBOX_LAST] do
    local row = call('HGET', P .. ':b:' .. h[ID], whole(n))
    if row then
      local e = unpacked(row)
      table.insert(e, 1, n)
      entries[#entries + 1] = e
    end
  end
  return entries
end

function documents.key(kind, id) return P .. ':d:' .. #kind .. ':' .. kind .. id end

function documents.get(kind, id)
  local row = call('GET', documents.key(kind, id))
  return row and unpacked(row)
end

function documents.attribute_key(kind, name, value)
  return P .. ':da:' .. #kind .. ':' .. kind .. name .. value
end

function letters.get(id)
  local row = call('GET', P .. ':l:' .. id)
  return row and unpacked(row)
end
`,
  /** `read-batch.lua` */
  readBatch: `-- Reads a batch from the arguments, as encode-batch.ts encodes it, and applies it.

local read = {}

function read.run()
  local run = {
    id = arg(), workflow = arg(), version = num(), start_id = arg(), created = num(), owner = text_or_null(), start_at = num(),
    input = arg(), facts = arg(), tags = list(), parent = text_or_null(), on_close = text_or_null(),
  }
  return run
end

function read.entries()
  local entries = {}
  for i = 1, num() do entries[i] = read.entry() end
  return entries
end

function read.history()
  if arg() ~= '1' then return false end
  local history = { undo = arg(), records = list(), inbox = read.entries() }
  if arg() == '1' then
    history.life = { started = num_or_null(), generation = num(), base = num(), seqs = list() }
    if arg() == '1' then history.life.ending = { status = arg(), outcome = arg(), at = num() } end
  end
  return history
end

function read.posts()
  local posts = {}
  for i = 1, num() do posts[i] = read.post() end
  return posts
end

function read.entry() return { arg(), arg(), arg(), arg(), text_or_null(), num(), arg() } end

-- With several partitions, \`words\` contains the post's arguments, to forward it.
function read.post()
  local first = at + 1
  local post = read.post_body(arg())
  post.words = {}
  if PARTITIONS > 1 then for i = first, at do post.words[#post.words + 1] = args[i] end end
  return post
end

function read.post_body(kind)
  if kind == 'message' then return { kind = kind, to = arg(), entry = read.entry(), by_run = arg() == '1' } end
  if kind == 'entry' then return { kind = kind, to = arg(), entry = read.entry() } end
  if kind == 'start' then return { kind = kind, run = read.run(), history = read.history() } end
  if kind == 'closeChildren' then return { kind = kind, of = arg(), reason = arg(), at = num(), is_end = arg() == '1' } end
  return {
    kind = kind,
    event = {
      topic = arg(), id = arg(), value = arg(), at = num(), expire = num(), deliver = arg(), consume = arg(), max = num(),
    },
  }
end

function read.document()
  return { arg(), arg(), text_or_null(), arg(), text_or_null(), text_or_null(), text_or_null(), text_or_null() }
end

function read.document_change(what)
  if what == 'put' then return { put = read.document() } end
  if what == 'create' then return { create = read.document() } end
  if what == 'remove' then return { kind = arg(), id = arg() } end
  return { kind = arg(), id = arg(), marks = { text_or_null(), text_or_null(), text_or_null(), text_or_null() } }
end

function read.documents()
  local changes = {}
  for i = 1, num() do changes[i] = read.document_change(arg()) end
  return changes
end

function read.revise()
  local seen = arg() == '1' and read.document()
  local document = read.document()
  return apply_revise(seen, document, arg() == '1' and read.post())
end

function read.state()
  local status = arg()
  if status == '' then return false end
  local state = { status = status }
  if status == 'running' or status == 'suspended' then
    state.seen = num()
    local text = arg()
    state.wait = text ~= '-'
      and { text = text, ['until'] = num_or_null(), children = arg() == '1', messages = list(), topics = list() }
  elseif status == 'paused' then
    state.reason = arg()
  elseif status == 'continued' then
    state.workflow, state.version, state.input, state.base, state.at = arg(), num(), arg(), num(), num()
  elseif status == 'restarted' then
    state.run, state.base = read.run(), num()
  elseif status == 'reopened' then
    state.at, state.version, state.undo = num(), num_or_null(), arg()
  elseif status == 'compensating' then
    state.at, state.claims, state.record = num(), num(), arg()
  elseif is_terminal(status) then
    state.outcome, state.at = arg(), num()
  else
    state.at = num()
  end
  return state
end

function read.ranges()
  local ranges = {}
  for i = 1, num() do ranges[i] = { num(), num() } end
  return ranges
end

function read.journal_change()
  return arg() == '1'
    and {
      seen = num_or_null(), status = arg(), cut_after = num_or_null(), add = list(), restore = read.entries(),
    }
end

-- Runs that ended, and runs that a worker may have to claim later.
local ended, changed = {}, {}

local NONE = {}

function read.append()
  local t = {
    run_id = arg(), epoch = num(), turn = num(), first = num(), records = list(), state = read.state(), posts = read.posts(),
    trim = NONE, taken = NONE, documents = NONE,
  }
  if arg() == '1' then
    t.trim, t.taken, t.inbox, t.not_before, t.undo, t.documents =
      read.ranges(), list(), num_or_null(), num_or_null(), text_or_null(), read.documents()
  end
  if t.state and is_terminal(t.state.status) then ended[#ended + 1] = t.run_id end
  return apply_append(t)
end

function read.create()
  local run = read.run()
  if not run.owner then changed[#changed + 1] = run.id end
  return apply_create(run, read.history())
end

function read.control()
  local t = {
    run_id = arg(), epoch = num(), control_id = arg(), undo = text_or_null(), journal = read.journal_change(),
    state = read.state(), posts = read.posts(),
  }
  local list = t.state and is_terminal(t.state.status) and ended or changed
  list[#list + 1] = t.run_id
  return apply_control(t)
end

function read.posting() return answer_post(read.post()) end

function read.letter()
  local id = arg()
  return apply_letter({ id = id, post = arg() == '1' and read.post() })
end

function read.changes()
  apply_documents(read.documents())
  return APPLIED
end

local HINTED_MAX = 1000

-- Groups runs by owner, because there are few owners. A run without an owner has the owner false.
local function grouped()
  local groups, by_owner = {}, {}
  local function add(owner, id)
    local group = by_owner[owner]
    if not group then
      group = { owner }
      by_owner[owner] = group
      groups[#groups + 1] = group
    end
    group[#group + 1] = id
  end
  for _, id in ipairs(wake_order) do add(wakes[id][2], id) end
  for _, id in ipairs(changed) do if not wakes[id] then add(false, id) end end
  return groups
end

-- Publishes a hint for other processes: the runs that became ready, and the runs that ended. Null if they are more than HINTED_MAX.
local function publish_hint()
  local count = #wake_order + #changed + #ended
  if count == 0 then return end
  local text = count > HINTED_MAX and 'null' or cjson.encode({ grouped(), ended })
  call('PUBLISH', P .. ':hints', ARGV[3] .. text)
end

local function woken()
  local found = {}
  for i, id in ipairs(wake_order) do found[i] = wakes[id] end
  return found
end

-- The reply contains only plain appends that the fast path did not push: the position, then the answer.
local function commit()
  local plain_answers, answers = {}, {}
  for i, failed in ipairs(unpushed) do
    plain_answers[2 * i - 1], plain_answers[2 * i] = failed[1], append_plain(failed[2])
  end
  for i = 1, num() do answers[i] = read[arg()]() end
  runs.flush()
  publish_hint()
  return { now, answers, woken(), outgoing(), plain_answers }
end

if ARGV[1] == 'commit' then return commit() end
`,
  /** `read.lua` */
  read: `-- The read-only operations. A separate script, so that it runs on servers that refuse writes.

local SCANNED_MAX = 500

-- Compares by bytes, as sorted sets do. The comparison operator of Lua depends on the server's locale.
local function is_less(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

local function set_of(items)
  local set = {}
  for _, item in ipairs(items) do set[item] = true end
  return set
end

local function matches(h, statuses, workflow)
  return h and statuses[h[STATUS]] and (not workflow or h[WORKFLOW] == workflow)
end

local read = {}

-- Runs of an index, newest first, after a position. Reads at most about SCANNED_MAX runs. Returns the position where it stopped, and 1
-- at the end of the index.
function read.scan()
  local key, min, max, after_id = P .. arg(), arg(), arg(), text_or_null()
  local limit, statuses, workflow = num(), set_of(list()), text_or_null()
  local found, offset, scanned, score, id = {}, 0, 0, '', ''
  while scanned < SCANNED_MAX do
    local rows = call('ZREVRANGEBYSCORE', key, max, min, 'WITHSCORES', 'LIMIT', offset, SCANNED_MAX)
    for i = 1, #rows, 2 do
      id, score = rows[i], rows[i + 1]
      if not after_id or score ~= max or is_less(id, after_id) then
        scanned = scanned + 1
        if matches(runs.head(id), statuses, workflow) then found[#found + 1] = runs.get(id) end
        if #found == limit then return { found, score, id, 0 } end
      end
    end
    if #rows < 2 * SCANNED_MAX then return { found, score, id, 1 } end
    offset = offset + SCANNED_MAX
  end
  return { found, score, id, 0 }
end

-- Counts the matching runs among SCANNED_MAX members of an index from this rank on. Returns the rank to continue from, or false at the
-- end. If all members match (\`exact\`), no run is read.
function read.count()
  local key, min, max, offset, exact = P .. arg(), arg(), arg(), num(), arg()
  if exact == '1' then return { call('ZCOUNT', key, min, max), false } end
  local statuses, workflow, count = set_of(list()), text_or_null(), 0
  local ids = call('ZRANGEBYSCORE', key, min, max, 'LIMIT', offset, SCANNED_MAX)
  for _, id in ipairs(ids) do if matches(runs.head(id), statuses, workflow) then count = count + 1 end end
  return { count, #ids == SCANNED_MAX and offset + SCANNED_MAX }
end

function read.get() return runs.get(arg()) end

function read.load()
  local id, after, after_entry = arg(), num_or_null(), num()
  local run = runs.get(id)
  if not run then return false end
  local h, snapshot = run[1], documents.get('snapshot', id)
  after = after or (snapshot and snapshot[5] and tonumber(snapshot[5])) or h[BASE_SEQ]
  local records = journal.tail(h, journal.newest_seq(h), after)
  return { run, snapshot, records, inbox.after(h, after_entry) }
end

function read.journal()
  local h, after, limit, newest_first = runs.head(arg()), num(), num(), arg() == '1'
  if not h or limit <= 0 then return {} end
  local key, found = P .. ':j:' .. h[ID], {}
  if newest_first then
    local rows = call('LRANGE', key, -limit, -1)
    for i = #rows, 1, -1 do if journal.seq(rows[i]) > after then found[#found + 1] = rows[i] end end
    return found
  end
  local first = math.max(call('LLEN', key) - (journal.newest_seq(h) - after), 0)
  while #found < limit do
    local rows = call('LRANGE', key, first, first + limit - 1)
    for _, record in ipairs(rows) do
      if #found < limit and journal.seq(record) > after then found[#found + 1] = record end
    end
    if #rows < limit then return found end
    first = first + limit
  end
  return found
end

function read.inbox() return inbox.open(arg()) end

function read.due()
  local members = call('ZRANGEBYSCORE', P .. ':do:' .. arg(), '-inf', whole(now), 'LIMIT', 0, num())
  local due = {}
  for i, member in ipairs(members) do
    local h = runs.head(string.sub(member, ORDERED_LENGTH + 1))
    due[i] = { h[ID], h[INBOX_LAST] }
  end
  return { now, due }
end

function read.owned() return owned_by(arg()) end

function read.next() return { now, next_due(arg(), list()) } end

function read.letters()
  local ids = call('ZREVRANGEBYSCORE', P .. ':lx', arg(), '-inf', 'WITHSCORES', 'LIMIT', 0, num())
  local found = {}
  for i = 1, #ids, 2 do found[#found + 1] = { ids[i + 1], letters.get(ids[i]) } end
  return found
end

function read.letter() return letters.get(arg()) end

function read.documents()
  local kind, name, value, from, limit = arg(), arg(), arg(), arg(), num()
  local key = name == '' and P .. ':dk:' .. kind or documents.attribute_key(kind, name, value)
  local found = {}
  for i, id in ipairs(call('ZRANGEBYLEX', key, from, '+', 'LIMIT', 0, limit)) do found[i] = documents.get(kind, id) end
  return found
end

function read.document() return documents.get(arg(), arg()) end

function read.workers()
  local rows, found = call('ZRANGE', P .. ':wk', 0, -1, 'WITHSCORES'), {}
  for i = 1, #rows, 2 do found[#found + 1] = { rows[i], rows[i + 1], call('HGET', P .. ':wf', rows[i]) } end
  return found
end

function read.time() return { now } end

return (read[ARGV[1]] or partition_reads[ARGV[1]])()
`,
  /** `run-rows.lua` */
  runRows: `-- Runs during a commit. Each head is read once, and written once at the end. So a batch writes each run once, and updates each index set
-- once for all runs, by comparing the state before and after.
--
-- The guard of an open run has what an append of records must check: the epoch. If seqs of the journal have no record, a colon and their
-- number follow. One command reads the guards of many runs.
--
-- Keys: \`r:\` the run, \`g\` guards, \`do:\` due runs by owner, \`df:\` due runs without an owner by version and workflow, \`hl:\` runs that an
-- owner executes, \`o:\` other runs of an owner, \`lo\` and \`le:\` open and ended runs, \`lw:\` and \`lt:\` runs by workflow and tag, \`ch:\`
-- children, \`cx:\` other partitions that have children, \`c\` counters.

local before, fields, changed, awaits = {}, {}, {}, {}
local last_key

-- The status of a run that an owner executes, or that can be claimed.
local function working_status(h) return h[UNDO] == 'underWay' and 'compensating' or 'running' end

-- Whether the owner executes the run. A compensating run with a wait is suspended.
local function is_working(h)
  return h[STATUS] == 'running' or (h[STATUS] == 'compensating' and not h[WAITS])
end

local function guard_of(h)
  if is_terminal(h[STATUS]) then return false end
  return h[DROPPED] == 0 and whole(h[EPOCH]) or whole(h[EPOCH]) .. ':' .. whole(h[DROPPED])
end

-- Must be called before the first change of a head.
function runs.touch(h)
  local id = h[ID]
  if before[id] == nil then
    before[id] = { h[OWNER], h[WAKE_AT], h[WORKFLOW], h[VERSION], h[STATUS], is_working(h), guard_of(h), h[CREATED_AT] }
    fields[id] = {}
    changed[#changed + 1] = id
  end
end

function runs.set(h, field, value)
  local own = fields[h[ID]]
  own[#own + 1] = field
  own[#own + 1] = value
end

function runs.set_wait(h, wait)
  if not wait and not h[WAITS] then return end
  local awaited = false
  if wait then
    awaited = wait.messages
    table.insert(awaited, 1, wait.children)
  end
  runs.set(h, 'w', wait and wait.text or '-')
  runs.set(h, 'm', pack(awaited))
  awaits[h[ID]] = awaited
  h[WAITS] = wait and true or false
end

-- Whether the end of a child wakes the run, then the names of messages that wake it. False if it has no wait.
function runs.awaited(h)
  local id = h[ID]
  if awaits[id] == nil then
    local row = call('HGET', P .. ':r:' .. id, 'm')
    awaits[id] = row and unpacked(row)
  end
  return awaits[id]
end

function runs.insert(run, h)
  local id = h[ID]
  last_key = (last_key or tonumber(call('HGET', P .. ':c', 'key') or 0)) + 1
  h[KEY] = last_key
  heads[id] = h
  if before[id] == nil then changed[#changed + 1] = id end
  before[id] = false
  fields[id] = { 'i', run.input, 'f', run.facts }
  if #run.tags > 0 then runs.set(h, 'g', pack(run.tags)) end
  awaits[id] = false
  for _, tag in ipairs(run.tags) do call('ZADD', P .. ':lt:' .. tag, h[CREATED_AT], id) end
  if run.parent then call('ZADD', P .. ':ch:' .. run.parent, h[CREATED_AT], id) end
end

local function remove_tags(id)
  local tags = call('HGET', P .. ':r:' .. id, 'g')
  for _, tag in ipairs(tags and unpacked(tags) or {}) do call('ZREM', P .. ':lt:' .. tag, id) end
end

-- Writes the facts of another start of a run. Its lists are sorted by the time of the start.
function runs.set_start(h, run)
  local id = h[ID]
  remove_tags(id)
  h[WORKFLOW], h[VERSION], h[START_ID], h[CREATED_AT] = run.workflow, run.version, run.start_id, run.created
  for _, tag in ipairs(run.tags) do call('ZADD', P .. ':lt:' .. tag, run.created, id) end
  runs.set(h, 'i', run.input)
  runs.set(h, 'f', run.facts)
  runs.set(h, 'g', pack(run.tags))
end

-- Members to add to and to remove from sorted sets, by key. A run never enters and leaves the same set in one commit.
local additions, removals = {}, {}

local function add_member(key, score, member)
  local some = additions[key]
  if not some then
    some = { n = 0 }
    additions[key] = some
  end
  local n = some.n
  some[n + 1], some[n + 2], some.n = whole(score), member, n + 2
end

local function remove_member(key, member)
  local some = removals[key] or {}
  removals[key] = some
  some[#some + 1] = member
end

-- Calls a command with many arguments, in as few calls as possible.
local function call_with(command, key, values)
  for first = 1, #values, ARGS_MAX do
    call(command, key, unpack(values, first, math.min(first + ARGS_MAX - 1, #values)))
  end
end

local function flush_due(h, was)
  local old = was and was[2] and runs.due_key(was[1], was[3], was[4])
  local new = h[WAKE_AT] and runs.due_key(h[OWNER], h[WORKFLOW], h[VERSION])
  if not old and not new then return end
  local member = ordered(h[KEY], h[ID])
  if old and old ~= new then remove_member(old, member) end
  if new and (old ~= new or was[2] ~= h[WAKE_AT]) then add_member(new, h[WAKE_AT], member) end
end

local function owned_key(owner, is_executed)
  return owner and P .. (is_executed and ':hl:' or ':o:') .. owner
end

local function flush_owner(h, was)
  local old, new = was and owned_key(was[1], was[6]), owned_key(h[OWNER], is_working(h))
  if old == new then return end
  if old then remove_member(old, h[ID]) end
  if new then add_member(new, h[KEY], h[ID]) end
end

local function flush_lists(h, was)
  local id, created = h[ID], h[CREATED_AT]
  local old, new = was and runs.list_key(was[5]), runs.list_key(h[STATUS])
  local starts_again = was and was[8] ~= created
  if old ~= new or starts_again then
    if old and old ~= new then remove_member(old, id) end
    add_member(new, created, id)
  end
  local workflow = was and was[3]
  if workflow ~= h[WORKFLOW] or starts_again then
    if workflow and workflow ~= h[WORKFLOW] then remove_member(P .. ':lw:' .. workflow, id) end
    add_member(P .. ':lw:' .. h[WORKFLOW], created, id)
  end
end

-- Guards to write, and runs whose guards are deleted.
local opened, closed = {}, {}

local function flush_guard(h, was)
  local id, guard = h[ID], guard_of(h)
  if guard == (was and was[7]) then return end
  if guard then
    opened[#opened + 1] = id
    opened[#opened + 1] = guard
  else
    closed[#closed + 1] = id
  end
end

function runs.flush()
  for _, id in ipairs(changed) do
    local h = heads[id]
    if h then
      local was, own = before[id], fields[id]
      call('HSET', P .. ':r:' .. id, 'h', pack(h), unpack(own))
      flush_due(h, was)
      flush_owner(h, was)
      flush_lists(h, was)
      flush_guard(h, was)
    end
  end
  for key, members in pairs(removals) do call_with('ZREM', key, members) end
  for key, members in pairs(additions) do call_with('ZADD', key, members) end
  call_with('HDEL', P .. ':g', closed)
  call_with('HSET', P .. ':g', opened)
  if last_key then call('HSET', P .. ':c', 'key', whole(last_key)) end
  before, fields, changed, additions, removals, opened, closed = {}, {}, {}, {}, {}, {}, {}
end

function runs.children(id)
  local found = {}
  for _, child in ipairs(call('ZRANGE', P .. ':ch:' .. id, 0, -1)) do
    local h = runs.head(child)
    if h then found[#found + 1] = h end
  end
  table.sort(found, function(a, b) return a[KEY] < b[KEY] end)
  return found
end

-- Deletes an ended run with all rows that belong to it. An ended run has no owner and is in no set of due runs.
function runs.remove(h)
  local id = h[ID]
  remove_tags(id)
  if h[PARENT] then call('ZREM', P .. ':ch:' .. h[PARENT], id) end
  call('ZREM', runs.list_key(h[STATUS]), id)
  call('ZREM', P .. ':lw:' .. h[WORKFLOW], id)
  inbox.remove_all(id)
  documents.remove_of(id)
  call('DEL', P .. ':r:' .. id, P .. ':j:' .. id, P .. ':s:' .. id, P .. ':cx:' .. id)
  heads[id] = false
end
`,
  /** `tables.lua` */
  tables: `-- Rows of runs, and rows beside them.
--
-- Keys: \`j:\` the journal, \`b:\` the inbox by number, \`k:\` every id that the inbox has had, \`kx\` ids of received entries by time, \`w:\` the
-- waiters of a topic, \`s:\` the events of topics that a run has seen, \`l:\`, \`lx\` and \`ld\` dead letters, \`d:\` documents, \`dk:\`, \`da:\` and
-- \`dr:\` their indexes by kind, attribute and run, \`wk\` and \`wf\` workers.

local newest, subscriptions = {}, {}

function journal.newest(h)
  local id = h[ID]
  if newest[id] == nil then newest[id] = journal.newest_seq(h) end
  return newest[id]
end

local function push(h, records) call_with('RPUSH', P .. ':j:' .. h[ID], records) end

function journal.append(h, records)
  newest[h[ID]] = journal.newest(h) + #records
  push(h, records)
end

-- Must be called after any change of the journal other than an append of the next record.
local function recount(h, seq)
  runs.touch(h)
  newest[h[ID]] = seq
  h[DROPPED] = seq - call('LLEN', P .. ':j:' .. h[ID])
end

-- Appends records that lack their opening bracket and seq. They get the given seqs, or the next ones.
function journal.add(h, records, seqs)
  local seq, numbered = journal.newest(h), {}
  for i, record in ipairs(records) do
    seq = seqs and tonumber(seqs[i]) or seq + 1
    numbered[i] = '[' .. whole(seq) .. ',' .. record
  end
  push(h, numbered)
  recount(h, seq)
end

local function drop_tail(h, count)
  if count > 0 then call('LTRIM', P .. ':j:' .. h[ID], 0, -count - 1) end
end

-- Deletes the records up to this seq, which becomes the base seq.
function journal.cut(h, seq)
  local last = journal.newest(h)
  local kept = #journal.tail(h, last, seq)
  if kept == 0 then call('DEL', P .. ':j:' .. h[ID]) else call('LTRIM', P .. ':j:' .. h[ID], -kept, -1) end
  h[BASE_SEQ] = seq
  recount(h, kept == 0 and seq or last)
end

-- Deletes the records after this seq.
function journal.cut_after(h, seq)
  drop_tail(h, #journal.tail(h, journal.newest(h), seq))
  local last = call('LINDEX', P .. ':j:' .. h[ID], -1)
  recount(h, last and journal.seq(last) or h[BASE_SEQ])
end

-- Deletes the records from one seq to another, and pushes the records after them again. They are near the end of the journal, and
-- the newest record is never among them.
function journal.trim(h, from, to)
  local tail = journal.tail(h, journal.newest(h), from - 1)
  local kept = {}
  for _, record in ipairs(tail) do if journal.seq(record) > to then kept[#kept + 1] = record end end
  drop_tail(h, #tail)
  push(h, kept)
  recount(h, journal.newest(h))
end

local function known_field(kind, id) return kind .. ':' .. id end
local function received_member(run, field) return #run .. ':' .. run .. field end

-- Returns false, without a write, if the run has or had an entry of this kind and id.
function inbox.add(h, n, e)
  local id = h[ID]
  if call('HSETNX', P .. ':k:' .. id, known_field(e[1], e[2]), whole(n)) == 0 then return false end
  call('HSET', P .. ':b:' .. id, whole(n), pack(e))
  return true
end

-- Like \`add\`, but also adds an entry that the run has received. Returns false, without a write, if the entry is in the inbox.
function inbox.restore(h, n, e)
  local id, field = h[ID], known_field(e[1], e[2])
  local had = call('HGET', P .. ':k:' .. id, field)
  if had and call('HEXISTS', P .. ':b:' .. id, had) == 1 then return false end
  call('HSET', P .. ':k:' .. id, field, whole(n))
  call('HSET', P .. ':b:' .. id, whole(n), pack(e))
  call('ZREM', P .. ':kx', received_member(id, field))
  return true
end

function inbox.knows(id, kind, entry_id)
  return call('HEXISTS', P .. ':k:' .. id, known_field(kind, entry_id)) == 1
end

function inbox.take(id, n)
  local row = call('HGET', P .. ':b:' .. id, n)
  if not row then return end
  local e = unpacked(row)
  call('HDEL', P .. ':b:' .. id, n)
  call('ZADD', P .. ':kx', e[6], received_member(id, known_field(e[1], e[2])))
end

function inbox.forget_before(before_at, limit)
  local members = call('ZRANGEBYSCORE', P .. ':kx', '-inf', '(' .. whole(before_at), 'LIMIT', 0, limit)
  for _, member in ipairs(members) do
    local length, rest = string.match(member, '^(%d+):(.*)$')
    length = tonumber(length)
    call('HDEL', P .. ':k:' .. string.sub(rest, 1, length), string.sub(rest, length + 1))
    call('ZREM', P .. ':kx', member)
  end
  return #members
end

function inbox.remove_all(id)
  for _, field in ipairs(call('HKEYS', P .. ':k:' .. id)) do call('ZREM', P .. ':kx', received_member(id, field)) end
  call('DEL', P .. ':b:' .. id, P .. ':k:' .. id)
end

local function subscribed(h)
  if h[TOPICS] == 0 then return {} end
  local id = h[ID]
  if subscriptions[id] == nil then subscriptions[id] = unpacked(call('HGET', P .. ':r:' .. id, 't')) end
  return subscriptions[id]
end

-- Adds the run behind the other waiters. A run that waits already keeps its position.
function topics.queue(topic, id)
  if call('ZSCORE', P .. ':w:' .. topic, id) then return end
  call('ZADD', P .. ':w:' .. topic, call('HINCRBY', P .. ':c', 'place', 1), id)
end

function topics.unqueue(topic, id) call('ZREM', P .. ':w:' .. topic, id) end

-- Subscribes to a topic of another partition. That partition sends pending events as it sends later ones.
function topics.request(h, topic)
  local seen = whole(topics.seen(h, topic))
  send(partition_of(topic), { 'subscribe', topic, h[ID], whole(h[CREATED_AT]), seen })
end

local function unsubscribe(h, topic)
  if is_local(topic) then topics.unqueue(topic, h[ID]) else send(partition_of(topic), { 'leave', topic, h[ID] }) end
end

function topics.is_subscribed(h, wanted)
  for _, topic in ipairs(subscribed(h)) do if topic == wanted then return true end end
  return false
end

-- Makes the run wait on exactly these topics. On topics that it waits on already it keeps its position.
function topics.subscribe(h, wanted)
  local keep, had = {}, {}
  for _, topic in ipairs(wanted) do keep[topic] = true end
  for _, topic in ipairs(subscribed(h)) do
    had[topic] = true
    if not keep[topic] then unsubscribe(h, topic) end
  end
  for _, topic in ipairs(wanted) do
    if is_local(topic) then topics.queue(topic, h[ID]) elseif not had[topic] then topics.request(h, topic) end
  end
  subscriptions[h[ID]] = wanted
  h[TOPICS] = #wanted
  runs.set(h, 't', pack(wanted))
end

function topics.leave(h)
  for _, topic in ipairs(subscribed(h)) do unsubscribe(h, topic) end
  subscriptions[h[ID]] = nil
  h[TOPICS] = 0
end

function topics.longest_waiter(topic) return call('ZRANGE', P .. ':w:' .. topic, 0, 0)[1] end
function topics.waiters(topic) return call('ZRANGE', P .. ':w:' .. topic, 0, -1) end

function topics.seen(h, topic) return tonumber(call('HGET', P .. ':s:' .. h[ID], topic) or 0) end
function topics.set_seen(h, topic, n) call('HSET', P .. ':s:' .. h[ID], topic, n) end

-- A dead letter: id, kind, target, name, value, reason, status, sent at, dead at, id of the post, number.
function letters.insert(letter)
  local key = P .. ':l:' .. letter[1]
  if call('EXISTS', key) == 1 then return end
  letter[11] = call('HINCRBY', P .. ':c', 'letter', 1)
  call('SET', key, pack(letter))
  call('ZADD', P .. ':lx', letter[11], letter[1])
  call('ZADD', P .. ':ld', letter[9], ordered(letter[11], letter[1]))
end

function letters.remove(letter)
  call('DEL', P .. ':l:' .. letter[1])
  call('ZREM', P .. ':lx', letter[1])
  call('ZREM', P .. ':ld', ordered(letter[11], letter[1]))
end

function letters.remove_before(dead_before, limit)
  local members = call('ZRANGEBYSCORE', P .. ':ld', '-inf', '(' .. whole(dead_before), 'LIMIT', 0, limit)
  for _, member in ipairs(members) do letters.remove(letters.get(string.sub(member, ORDERED_LENGTH + 1))) end
  return #members
end

-- A document: kind, id, run, body, four attributes.
local ATTRIBUTES = { a = 5, b = 6, c = 7, d = 8 }

function documents.remove(kind, id)
  local d = documents.get(kind, id)
  if not d then return end
  call('DEL', documents.key(kind, id))
  call('ZREM', P .. ':dk:' .. kind, id)
  for name, index in pairs(ATTRIBUTES) do
    if d[index] then call('ZREM', documents.attribute_key(kind, name, d[index]), id) end
  end
  if d[3] then call('SREM', P .. ':dr:' .. d[3], pack({ kind, id })) end
end

function documents.put(d)
  local kind, id = d[1], d[2]
  documents.remove(kind, id)
  call('SET', documents.key(kind, id), pack(d))
  call('ZADD', P .. ':dk:' .. kind, 0, id)
  for name, index in pairs(ATTRIBUTES) do
    if d[index] then call('ZADD', documents.attribute_key(kind, name, d[index]), 0, id) end
  end
  if d[3] then call('SADD', P .. ':dr:' .. d[3], pack({ kind, id })) end
end

function documents.create(d)
  if not documents.get(d[1], d[2]) then documents.put(d) end
end

-- Sets the four attributes. An attribute whose mark is false keeps its value.
function documents.mark(kind, id, marks)
  local d = documents.get(kind, id)
  if not d then return end
  for i = 1, 4 do d[4 + i] = marks[i] or d[4 + i] end
  documents.put(d)
end

-- Cancels the open documents of a run.
function documents.close_of(run)
  for _, member in ipairs(call('SMEMBERS', P .. ':dr:' .. run)) do
    local name = unpacked(member)
    local d = documents.get(name[1], name[2])
    if d and d[ATTRIBUTES.d] == 'OPEN_DOCUMENT' then documents.mark(name[1], name[2], { false, false, false, 'CANCELLED_DOCUMENT' }) end
  end
end

function documents.is_same(left, right)
  for i = 1, 8 do if left[i] ~= right[i] then return false end end
  return true
end

function documents.remove_of(run)
  for _, member in ipairs(call('SMEMBERS', P .. ':dr:' .. run)) do
    local name = unpacked(member)
    documents.remove(name[1], name[2])
  end
end

-- Ensures that an owner has a row. A worker without one, for example because its lease expired, gets an expired lease.
function workers.register(worker)
  if workers.registered == worker then return end
  workers.registered = worker
  call('ZADD', P .. ':wk', 'NX', 0, worker)
end

function workers.remove(worker)
  call('ZREM', P .. ':wk', worker)
  call('HDEL', P .. ':wf', worker)
end
`,
  /** `worker-reads.lua` */
  workerReads: `-- Reads of a worker: the runs that it owns, and when the next run is due. Part of both scripts, after the prelude.

-- Guards of open runs, in the order of their ids.
local function read_guards(ids)
  local found = {}
  for first = 1, #ids, ARGS_MAX do
    local last = math.min(first + ARGS_MAX - 1, #ids)
    local some = call('HMGET', P .. ':g', unpack(ids, first, last))
    for i = first, last do found[i] = some[i - first + 1] end
  end
  return found
end

local function owned_by(worker)
  local ids, owned = call('ZRANGE', P .. ':hl:' .. worker, 0, -1), {}
  for i, guard in ipairs(read_guards(ids)) do owned[i] = { ids[i], tonumber(string.match(guard, '%d+')) } end
  return owned
end

local function next_due(worker, workflows)
  local keys = { P .. ':do:' .. worker }
  for _, workflow in ipairs(workflows) do keys[#keys + 1] = P .. ':df:' .. workflow end
  local earliest = false
  for _, key in ipairs(keys) do
    local first = call('ZRANGE', key, 0, 0, 'WITHSCORES')[2]
    if first and (not earliest or tonumber(first) < tonumber(earliest)) then earliest = first end
  end
  return earliest
end

-- When the first lease of another worker expires.
local function next_expiry(worker)
  local rows = call('ZRANGE', P .. ':wk', 0, 1, 'WITHSCORES')
  return rows[1] ~= worker and rows[2] or rows[4] or false
end
`,
};
