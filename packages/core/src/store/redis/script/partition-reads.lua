-- Reads for other partitions: outboxes that are not empty, and runs that retention may delete.

local ENDED_READ = 200
local OUTBOX_READ = 100
local partition_reads = {}

function partition_reads.outbox()
  local found = {}
  for partition = 0, tonumber(ARGV[5]) - 1 do
    local messages = call('ZRANGE', P .. ':ob:' .. partition, 0, OUTBOX_READ - 1)
    if #messages > 0 then found[#found + 1] = { partition, messages } end
  end
  return found
end

-- Runs of a status that ended before a time. Reads at most ENDED_READ runs from this rank on, oldest first. Returns the rank to continue
-- from, or false at the end. The end is also the first run that was created at or after the time: it has not ended before it.
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

-- Those of these runs that have children in this partition.
function partition_reads.parents()
  local found = {}
  for _, id in ipairs(list()) do if call('EXISTS', P .. ':ch:' .. id) == 1 then found[#found + 1] = id end end
  return found
end

-- The fields of an ancestor that retention needs: parent, created at, started at, status. False if the run does not exist.
function partition_reads.ancestor()
  local h = runs.head(arg())
  return h and { h[PARENT], h[CREATED_AT], h[STARTED_AT], h[STATUS] }
end
