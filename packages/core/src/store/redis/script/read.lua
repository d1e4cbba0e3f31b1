-- The read-only operations. A separate script, so that it runs on servers that refuse writes.

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
-- end. If all members match (`exact`), no run is read.
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
