-- Posts to a run. Mirrors rules/deliver.ts and rules/apply-post.ts.

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
-- due keeps its position. `again` also adds an entry that the run had and returned when it ended, or received before. The answer is
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

-- The run or topic that determines the partition of a post. Nil for `closeChildren`: children may be in any partition.
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
