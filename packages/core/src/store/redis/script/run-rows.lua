-- Runs while they change. A head is read once, and written once when the script ends. So a batch writes each run once, and updates each
-- index set once for all runs, from the run's state before and after.
--
-- A guard is all that an append of records needs of an open run: its epoch and, after a colon, how many seqs of its journal have no
-- record, unless none. The guards of many runs are read in one command.
--
-- Keys: `r:` the run, `g` guards, `do:` due runs by owner, `df:` due runs without an owner by version and workflow, `hl:` runs that
-- their owner executes, `o:` its other runs, `lo` and `le:` open and ended runs, `lw:` and `lt:` runs by workflow and tag, `ch:` children,
-- `cx:` other partitions that have children, `c` counters.

local before, fields, changed, awaits = {}, {}, {}, {}
local last_key

-- The status of a run that is worked on, or is to be.
local function working_status(h) return h[UNDO] == 'underWay' and 'compensating' or 'running' end

-- Whether its owner has it in its hands: a run that is compensating rests while its row has a wait.
local function is_working(h)
  return h[STATUS] == 'running' or (h[STATUS] == 'compensating' and not h[WAITS])
end

local function guard_of(h)
  if is_terminal(h[STATUS]) then return false end
  return h[DROPPED] == 0 and whole(h[EPOCH]) or whole(h[EPOCH]) .. ':' .. whole(h[DROPPED])
end

-- Called before the first change of a head.
function runs.touch(h)
  local id = h[ID]
  if before[id] == nil then
    before[id] = { h[OWNER], h[WAKE_AT], h[WORKFLOW], h[VERSION], h[STATUS], is_working(h), guard_of(h) }
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

-- Whether children wake the run, then the names of messages that do; false when it waits for nothing.
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

-- By key, what is added to a sorted set and what leaves it. The sets to add to and to leave are never the same for one run.
local entering, leaving = {}, {}

local function enter(key, score, member)
  local some = entering[key]
  if not some then
    some = { n = 0 }
    entering[key] = some
  end
  local n = some.n
  some[n + 1], some[n + 2], some.n = whole(score), member, n + 2
end

local function leave(key, member)
  local some = leaving[key] or {}
  leaving[key] = some
  some[#some + 1] = member
end

-- A command with many arguments, as few times as may be.
local function call_with(command, key, args)
  for first = 1, #args, GIVEN_MAX do
    call(command, key, unpack(args, first, math.min(first + GIVEN_MAX - 1, #args)))
  end
end

local function flush_due(h, was)
  local old = was and was[2] and runs.due_key(was[1], was[3], was[4])
  local new = h[WAKE_AT] and runs.due_key(h[OWNER], h[WORKFLOW], h[VERSION])
  if not old and not new then return end
  local member = ordered(h[KEY], h[ID])
  if old and old ~= new then leave(old, member) end
  if new and (old ~= new or was[2] ~= h[WAKE_AT]) then enter(new, h[WAKE_AT], member) end
end

local function owned_key(owner, is_at_work)
  return owner and P .. (is_at_work and ':hl:' or ':o:') .. owner
end

local function flush_owner(h, was)
  local old, new = was and owned_key(was[1], was[6]), owned_key(h[OWNER], is_working(h))
  if old == new then return end
  if old then leave(old, h[ID]) end
  if new then enter(new, h[KEY], h[ID]) end
end

local function flush_lists(h, was)
  local id, created = h[ID], h[CREATED_AT]
  local old, new = was and runs.list_key(was[5]), runs.list_key(h[STATUS])
  if old ~= new then
    if old then leave(old, id) end
    enter(new, created, id)
  end
  local workflow = was and was[3]
  if workflow ~= h[WORKFLOW] then
    if workflow then leave(P .. ':lw:' .. workflow, id) end
    enter(P .. ':lw:' .. h[WORKFLOW], created, id)
  end
end

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
  for key, members in pairs(leaving) do call_with('ZREM', key, members) end
  for key, members in pairs(entering) do call_with('ZADD', key, members) end
  call_with('HDEL', P .. ':g', closed)
  call_with('HSET', P .. ':g', opened)
  if last_key then call('HSET', P .. ':c', 'key', whole(last_key)) end
  before, fields, changed, entering, leaving, opened, closed = {}, {}, {}, {}, {}, {}, {}
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

-- With everything that belongs to it. It has ended, so nobody owns it and it is due to nobody.
function runs.remove(h)
  local id = h[ID]
  local tags = call('HGET', P .. ':r:' .. id, 'g')
  for _, tag in ipairs(tags and unpacked(tags) or {}) do call('ZREM', P .. ':lt:' .. tag, id) end
  if h[PARENT] then call('ZREM', P .. ':ch:' .. h[PARENT], id) end
  call('ZREM', runs.list_key(h[STATUS]), id)
  call('ZREM', P .. ':lw:' .. h[WORKFLOW], id)
  inbox.remove_all(id)
  documents.remove_of(id)
  call('DEL', P .. ':r:' .. id, P .. ':j:' .. id, P .. ':s:' .. id, P .. ':cx:' .. id)
  heads[id] = false
end
