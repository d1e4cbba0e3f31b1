/**
 * Runs under change. A head is read once and written once, when the script ends: what a batch does to a run is one write, and
 * the sets in which the run is found are set right by what it was before and what it is then.
 *
 * Keys: `r:` the run, `do:` and `df:` due runs by owner and, of those that nobody owns, by version and workflow, `o:` owned
 * runs, `hl:` those at work, `lo` and `le:` open and ended ones, `lw:` and `lt:` by workflow and tag, `ch:` children,
 * `cx:` other partitions that have children, `c` counters.
 */
export const RUN_ROWS_LUA = `
local before, fields, changed, awaits = {}, {}, {}, {}

-- The status of a run that is worked on, or is to be.
local function working_status(h) return h[UNDO] == 'underWay' and 'compensating' or 'running' end

-- Whether its owner has it in its hands: a run that is compensating rests while its row has a wait.
local function is_working(h)
  return h[STATUS] == 'running' or (h[STATUS] == 'compensating' and not h[WAITS])
end

-- Called before the first change of a head.
function runs.touch(h)
  local id = h[ID]
  if before[id] == nil then
    before[id] = { h[OWNER], h[WAKE_AT], h[WORKFLOW], h[VERSION], h[STATUS], is_working(h) }
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
  h[KEY] = call('HINCRBY', P .. ':c', 'key', 1)
  heads[id] = h
  if before[id] == nil then changed[#changed + 1] = id end
  before[id] = false
  fields[id] = { 'i', run.input, 'f', run.facts, 'g', pack(run.tags) }
  awaits[id] = false
  for _, tag in ipairs(run.tags) do call('ZADD', P .. ':lt:' .. tag, h[CREATED_AT], id) end
  if run.parent then call('ZADD', P .. ':ch:' .. run.parent, h[CREATED_AT], id) end
end

local function flush_due(h, was)
  local member = ordered(h[KEY], h[ID])
  local old = was and was[2] and runs.due_key(was[1], was[3], was[4])
  local new = h[WAKE_AT] and runs.due_key(h[OWNER], h[WORKFLOW], h[VERSION])
  if old and old ~= new then call('ZREM', old, member) end
  if new and (old ~= new or was[2] ~= h[WAKE_AT]) then call('ZADD', new, h[WAKE_AT], member) end
end

local function flush_owner(h, was)
  local id, owner, busy = h[ID], h[OWNER], is_working(h)
  local old, old_busy = was and was[1], was and was[6]
  if old == owner and old_busy == busy then return end
  if old and old ~= owner then call('ZREM', P .. ':o:' .. old, id) end
  if owner and old ~= owner then call('ZADD', P .. ':o:' .. owner, h[KEY], id) end
  if old and old_busy and (old ~= owner or not busy) then call('ZREM', P .. ':hl:' .. old, id) end
  if owner and busy and (old ~= owner or not old_busy) then call('ZADD', P .. ':hl:' .. owner, h[KEY], id) end
end

local function flush_lists(h, was)
  local id, created = h[ID], h[CREATED_AT]
  local old, new = was and runs.list_key(was[5]), runs.list_key(h[STATUS])
  if old ~= new then
    if old then call('ZREM', old, id) end
    call('ZADD', new, created, id)
  end
  local workflow = was and was[3]
  if workflow ~= h[WORKFLOW] then
    if workflow then call('ZREM', P .. ':lw:' .. workflow, id) end
    call('ZADD', P .. ':lw:' .. h[WORKFLOW], created, id)
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
    end
  end
  before, fields, changed = {}, {}, {}
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
  for _, tag in ipairs(unpacked(call('HGET', P .. ':r:' .. id, 'g'))) do call('ZREM', P .. ':lt:' .. tag, id) end
  if h[PARENT] then call('ZREM', P .. ':ch:' .. h[PARENT], id) end
  call('ZREM', runs.list_key(h[STATUS]), id)
  call('ZREM', P .. ':lw:' .. h[WORKFLOW], id)
  inbox.remove_all(id)
  documents.remove_of(id)
  call('DEL', P .. ':r:' .. id, P .. ':j:' .. id, P .. ':s:' .. id, P .. ':cx:' .. id)
  heads[id] = false
end
`;
