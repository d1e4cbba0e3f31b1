-- Rows of runs, and rows beside them.
--
-- Keys: `j:` the journal, `b:` the inbox by number, `k:` every id that the inbox has had, `kx` ids of received entries by time, `w:` the
-- waiters of a topic, `s:` the events of topics that a run has seen, `l:`, `lx` and `ld` dead letters, `d:` documents, `dk:`, `da:` and
-- `dr:` their indexes by kind, attribute and run, `wk` and `wf` workers.

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

-- Like `add`, but also adds an entry that the run has received. Returns false, without a write, if the entry is in the inbox.
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
