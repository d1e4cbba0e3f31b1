-- Reads a batch from the arguments, as encode-batch.ts encodes it, and applies it.

local read = {}

function read.run()
  local run = {
    id = arg(), workflow = arg(), version = num(), start_id = arg(), created = num(), owner = text_or_null(), start_at = num(),
    input = arg(), facts = arg(), tags = list(), parent = text_or_null(), on_close = text_or_null(),
  }
  return run
end

function read.entries()
  local entries = {}
  for i = 1, num() do entries[i] = read.entry() end
  return entries
end

function read.history()
  if arg() ~= '1' then return false end
  local history = { undo = arg(), records = list(), inbox = read.entries() }
  if arg() == '1' then
    history.life = { started = num_or_null(), generation = num(), base = num(), seqs = list() }
    if arg() == '1' then history.life.ending = { status = arg(), outcome = arg(), at = num() } end
  end
  return history
end

function read.posts()
  local posts = {}
  for i = 1, num() do posts[i] = read.post() end
  return posts
end

function read.entry() return { arg(), arg(), arg(), arg(), text_or_null(), num(), arg() } end

-- With several partitions, `words` contains the post's arguments, to forward it.
function read.post()
  local first = at + 1
  local post = read.post_body(arg())
  post.words = {}
  if PARTITIONS > 1 then for i = first, at do post.words[#post.words + 1] = args[i] end end
  return post
end

function read.post_body(kind)
  if kind == 'message' then return { kind = kind, to = arg(), entry = read.entry(), by_run = arg() == '1' } end
  if kind == 'entry' then return { kind = kind, to = arg(), entry = read.entry() } end
  if kind == 'start' then return { kind = kind, run = read.run(), history = read.history() } end
  if kind == 'closeChildren' then return { kind = kind, of = arg(), reason = arg(), at = num(), is_end = arg() == '1' } end
  return {
    kind = kind,
    event = {
      topic = arg(), id = arg(), value = arg(), at = num(), expire = num(), deliver = arg(), consume = arg(), max = num(),
    },
  }
end

function read.document()
  return { arg(), arg(), text_or_null(), arg(), text_or_null(), text_or_null(), text_or_null(), text_or_null() }
end

function read.document_change(what)
  if what == 'put' then return { put = read.document() } end
  if what == 'create' then return { create = read.document() } end
  if what == 'remove' then return { kind = arg(), id = arg() } end
  return { kind = arg(), id = arg(), marks = { text_or_null(), text_or_null(), text_or_null(), text_or_null() } }
end

function read.documents()
  local changes = {}
  for i = 1, num() do changes[i] = read.document_change(arg()) end
  return changes
end

function read.revise()
  local seen = arg() == '1' and read.document()
  local document = read.document()
  return apply_revise(seen, document, arg() == '1' and read.post())
end

function read.state()
  local status = arg()
  if status == '' then return false end
  local state = { status = status }
  if status == 'running' or status == 'suspended' then
    state.seen = num()
    local text = arg()
    state.wait = text ~= '-'
      and { text = text, ['until'] = num_or_null(), children = arg() == '1', messages = list(), topics = list() }
  elseif status == 'paused' then
    state.reason = arg()
  elseif status == 'continued' then
    state.workflow, state.version, state.input, state.base, state.at = arg(), num(), arg(), num(), num()
  elseif status == 'restarted' then
    state.run, state.base = read.run(), num()
  elseif status == 'reopened' then
    state.at, state.version, state.undo = num(), num_or_null(), arg()
  elseif status == 'compensating' then
    state.at, state.claims, state.record = num(), num(), arg()
  elseif is_terminal(status) then
    state.outcome, state.at = arg(), num()
  else
    state.at = num()
  end
  return state
end

function read.ranges()
  local ranges = {}
  for i = 1, num() do ranges[i] = { num(), num() } end
  return ranges
end

function read.journal_change()
  return arg() == '1'
    and {
      seen = num_or_null(), status = arg(), cut_after = num_or_null(), add = list(), restore = read.entries(),
    }
end

-- Runs that ended, and runs that a worker may have to claim later.
local ended, changed = {}, {}

local NONE = {}

function read.append()
  local t = {
    run_id = arg(), epoch = num(), turn = num(), first = num(), records = list(), state = read.state(), posts = read.posts(),
    trim = NONE, taken = NONE, documents = NONE,
  }
  if arg() == '1' then
    t.trim, t.taken, t.inbox, t.not_before, t.undo, t.documents =
      read.ranges(), list(), num_or_null(), num_or_null(), text_or_null(), read.documents()
  end
  if t.state and is_terminal(t.state.status) then ended[#ended + 1] = t.run_id end
  return apply_append(t)
end

function read.create()
  local run = read.run()
  if not run.owner then changed[#changed + 1] = run.id end
  return apply_create(run, read.history())
end

function read.control()
  local t = {
    run_id = arg(), epoch = num(), control_id = arg(), undo = text_or_null(), journal = read.journal_change(),
    state = read.state(), posts = read.posts(),
  }
  local list = t.state and is_terminal(t.state.status) and ended or changed
  list[#list + 1] = t.run_id
  return apply_control(t)
end

function read.posting() return answer_post(read.post()) end

function read.letter()
  local id = arg()
  return apply_letter({ id = id, post = arg() == '1' and read.post() })
end

function read.changes()
  apply_documents(read.documents())
  return APPLIED
end

local HINTED_MAX = 1000

-- Groups runs by owner, because there are few owners. A run without an owner has the owner false.
local function grouped()
  local groups, by_owner = {}, {}
  local function add(owner, id)
    local group = by_owner[owner]
    if not group then
      group = { owner }
      by_owner[owner] = group
      groups[#groups + 1] = group
    end
    group[#group + 1] = id
  end
  for _, id in ipairs(wake_order) do add(wakes[id][2], id) end
  for _, id in ipairs(changed) do if not wakes[id] then add(false, id) end end
  return groups
end

-- Publishes a hint for other processes: the runs that became ready, and the runs that ended. Null if they are more than HINTED_MAX.
local function publish_hint()
  local count = #wake_order + #changed + #ended
  if count == 0 then return end
  local text = count > HINTED_MAX and 'null' or cjson.encode({ grouped(), ended })
  call('PUBLISH', P .. ':hints', ARGV[3] .. text)
end

local function woken()
  local found = {}
  for i, id in ipairs(wake_order) do found[i] = wakes[id] end
  return found
end

-- The reply contains only plain appends that the fast path did not push: the position, then the answer.
local function commit()
  local plain_answers, answers = {}, {}
  for i, failed in ipairs(unpushed) do
    plain_answers[2 * i - 1], plain_answers[2 * i] = failed[1], append_plain(failed[2])
  end
  for i = 1, num() do answers[i] = read[arg()]() end
  runs.flush()
  publish_hint()
  return { now, answers, woken(), outgoing(), plain_answers }
end

if ARGV[1] == 'commit' then return commit() end
