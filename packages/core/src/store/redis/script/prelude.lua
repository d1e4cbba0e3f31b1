-- The start of both scripts: arguments, the time, and the packing of rows.
--
-- ARGV[1] is the operation. ARGV[2] is the time, or empty for the server's time. ARGV[3] is the caller. ARGV[4] is the index of this
-- partition, ARGV[5] the number of partitions. A nullable text is passed as `-`, or as `=` and the text; payloads are stored in that
-- form. A nullable number is passed as an empty text. A packed row has `false` for null, which is a null in a reply.

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

-- The records after this seq. Seqs only grow, so at most `newest - seq` records follow.
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
