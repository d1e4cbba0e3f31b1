-- Claims, heartbeats and pruning. Mirrors rules/claim.ts and rules/prune.ts.

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
