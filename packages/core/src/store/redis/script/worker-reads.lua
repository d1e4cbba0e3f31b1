-- Reads of a worker: the runs that it owns, and when the next run is due. Part of both scripts, after the prelude.

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
