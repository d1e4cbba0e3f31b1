-- The fast path: appends of only records that follow no other change of their run in the batch. One command reads their guards, and each
-- append costs one more. If the journal has an unexpected length after the push, the push is undone.
--
-- This part comes before the functions that other cases need: defining those takes longer than appending a record.

-- How many seqs have no record. False if the guard is missing or has another epoch.
local function dropped_of(guard, epoch)
  if guard == epoch then return 0 end
  local start = epoch .. ':'
  return guard and string.sub(guard, 1, #start) == start and tonumber(string.sub(guard, #start + 1))
end

-- Pushes the next `count` arguments, and returns the newest seq.
local function push_args(id, dropped, count)
  local key = P .. ':j:' .. id
  if count == 1 then return call('RPUSH', key, args[at + 1]) + dropped end
  local length
  for first = 1, count, ARGS_MAX do
    length = call('RPUSH', key, unpack(args, at + first, at + math.min(first + ARGS_MAX - 1, count)))
  end
  return length + dropped
end

-- Returns false, without a write, if the guard or the length of the journal does not match.
local function try_push(id, guard, epoch, last, count)
  local dropped = dropped_of(guard, epoch)
  if not dropped then return false end
  if push_args(id, dropped, count) == last then return true end
  call('LTRIM', P .. ':j:' .. id, 0, -count - 1)
  return false
end

-- Returns the appends that were not pushed, each with its position. `append_plain` applies or refuses them by the head.
local function push_plain()
  local count, failed = num(), {}
  local ids, guards, first = at, nil, 0
  at = at + count
  local done, group_end, epoch, pushed = 0, 0, nil, 0
  while done < count do
    if done == group_end then
      epoch, pushed = arg(), num()
      group_end = done + num()
    end
    if done % ARGS_MAX == 0 then
      first = done
      guards = call('HMGET', P .. ':g', unpack(args, ids + done + 1, ids + math.min(done + ARGS_MAX, count)))
    end
    done = done + 1
    local id, last = args[ids + done], num()
    if try_push(id, guards[done - first], epoch, last, pushed) then
      at = at + pushed
    else
      local t = { run_id = id, epoch = tonumber(epoch), first = last - pushed + 1, records = {} }
      for k = 1, pushed do t.records[k] = arg() end
      failed[#failed + 1] = { done, t }
    end
  end
  return failed
end

local unpushed = {}
if ARGV[1] == 'commit' then
  unpushed = push_plain()
  if #unpushed == 0 and args[at + 1] == '0' then return { now, {}, {}, {}, {} } end
end
