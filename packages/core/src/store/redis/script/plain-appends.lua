-- Appends that contain only records, when nothing else in the batch concerns their runs before: the common case. Their guards are read
-- in one command, and each run costs one more: if the journal is not as long as it should be after the push, the push is undone.
--
-- This part comes before everything that the other cases need: defining those functions takes longer than appending a record.

-- How many seqs have no record, when the guard is of this epoch.
local function dropped_of(guard, epoch)
  if guard == epoch then return 0 end
  local start = epoch .. ':'
  return guard and string.sub(guard, 1, #start) == start and tonumber(string.sub(guard, #start + 1))
end

-- What is the newest seq if these arguments are pushed.
local function push_given(id, dropped, count)
  local key = P .. ':j:' .. id
  if count == 1 then return call('RPUSH', key, given[at + 1]) + dropped end
  local length
  for first = 1, count, GIVEN_MAX do
    length = call('RPUSH', key, unpack(given, at + first, at + math.min(first + GIVEN_MAX - 1, count)))
  end
  return length + dropped
end

local function is_pushed(id, guard, epoch, last, count)
  local dropped = dropped_of(guard, epoch)
  if not dropped then return false end
  if push_given(id, dropped, count) == last then return true end
  call('LTRIM', P .. ':j:' .. id, 0, -count - 1)
  return false
end

-- Those that were not pushed: each with its place, and as it is appended where the whole head is looked at.
local function push_plain()
  local count, left = num(), {}
  local ids, guards, first = at, nil, 0
  at = at + count
  local done, last_alike, epoch, pushed = 0, 0, nil, 0
  while done < count do
    if done == last_alike then
      epoch, pushed = arg(), num()
      last_alike = done + num()
    end
    if done % GIVEN_MAX == 0 then
      first = done
      guards = call('HMGET', P .. ':g', unpack(given, ids + done + 1, ids + math.min(done + GIVEN_MAX, count)))
    end
    done = done + 1
    local id, last = given[ids + done], num()
    if is_pushed(id, guards[done - first], epoch, last, pushed) then
      at = at + pushed
    else
      local t = { run_id = id, epoch = tonumber(epoch), first = last - pushed + 1, records = {} }
      for k = 1, pushed do t.records[k] = arg() end
      left[#left + 1] = { done, t }
    end
  end
  return left
end

local left_plain = {}
if ARGV[1] == 'commit' then
  left_plain = push_plain()
  if #left_plain == 0 and given[at + 1] == '0' then return { now, {}, {}, {}, {} } end
end
