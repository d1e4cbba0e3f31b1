-- Reads for other partitions: outboxes that are not empty, and runs that other partitions still need.

local ENDED_READ = 200
local OUTBOX_READ = 100
local partition_reads = {}

function partition_reads.outbox()
  local found = {}
  for place = 0, tonumber(ARGV[5]) - 1 do
    local messages = call('ZRANGE', P .. ':ob:' .. place, 0, OUTBOX_READ - 1)
    if #messages > 0 then found[#found + 1] = { place, messages } end
  end
  return found
end

-- Runs of a status that ended before a time, among a bounded number in the order of their age, from this rank on; then the rank
-- to go on from, or nothing. One that was made after that time has not ended before it.
function partition_reads.ended()
  local status, ended_before, offset = arg(), num(), num()
  local rows = call('ZRANGE', P .. ':le:' .. status, offset, offset + ENDED_READ - 1, 'WITHSCORES')
  local found = {}
  for i = 1, #rows, 2 do
    if tonumber(rows[i + 1]) >= ended_before then return { found, false } end
    local h = runs.head(rows[i])
    if h[ENDED_AT] < ended_before then
      found[#found + 1] = { h[ID], h[PARENT], h[CREATED_AT] }
    end
  end
  return { found, #rows == 2 * ENDED_READ and offset + ENDED_READ }
end

-- Which of these have children here.
function partition_reads.parents()
  local found = {}
  for _, id in ipairs(list()) do if call('EXISTS', P .. ':ch:' .. id) == 1 then found[#found + 1] = id end end
  return found
end

-- What is above a run: its parent, when it was made and began, its status; nothing when it is not there.
function partition_reads.above()
  local h = runs.head(arg())
  return h and { h[PARENT], h[CREATED_AT], h[STARTED_AT], h[STATUS] }
end
