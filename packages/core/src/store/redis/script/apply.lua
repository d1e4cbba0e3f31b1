-- Applies transitions to the rows: guards first, then writes. Mirrors rules/apply.ts and rules/apply-state.ts.

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

-- Removes a dead letter, and posts it again if `post` is set. The id of an event is deleted with its letter, so that it can be posted
-- again. If the letter is gone but its post is known, this same transition was applied before.
local function apply_letter(t)
  local letter = letters.get(t.id)
  if not letter then return t.post and is_known(t.post) and answer_post(t.post) or NOT_FOUND end
  letters.remove(letter)
  local e = letter[2] == 'event' and events.get(letter[10])
  if e and not e.pending and not e.holder then events.remove(e) end
  return t.post and answer_post(t.post) or APPLIED
end
