-- Runs during a commit. Each head is read once, and written once at the end. So a batch writes each run once, and updates each index set
-- once for all runs, by comparing the state before and after.
--
-- The guard of an open run has what an append of records must check: the epoch. If seqs of the journal have no record, a colon and their
-- number follow. One command reads the guards of many runs.
--
-- Keys: `r:` the run, `g` guards, `do:` due runs by owner, `df:` due runs without an owner by version and workflow, `hl:` runs that an
-- owner executes, `o:` other runs of an owner, `lo` and `le:` open and ended runs, `lw:` and `lt:` runs by workflow and tag, `ch:`
-- children, `cx:` other partitions that have children, `c` counters.

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
