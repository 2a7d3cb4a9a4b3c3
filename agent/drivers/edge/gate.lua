-- Asks the agent to decide requests that HAProxy cannot, over a socket that only HAProxy can reach, one request per
-- connection. The other side is gate-server.ts.

local GATE = 'unix@/gate.sock'
local PAGES = 'unix@/pages.sock'
-- Retries while the agent restarts.
local PATIENCE_SECONDS = 25
local RETRY_MS = 50
local ANSWER_SECONDS = 180
local ASKED = {
  'accept', 'authorization', 'cookie', 'origin', 'referer', 'sec-fetch-dest', 'sec-fetch-mode', 'sec-fetch-site',
  'upgrade', 'x-request-id',
}

local function seconds()
  local now = core.now()
  return now.sec + now.usec / 1000000
end

local function question(txn, host, facts)
  local headers = txn.http:req_get_headers()
  local lines = {
    txn.f:method(),
    host,
    txn.f:url(),
    txn.f:src(),
    (txn:get_var('proc.scheme') == 'https' and 'secure' or 'plain') .. facts,
  }
  for _, name in ipairs(ASKED) do
    local values = headers[name]
    if values then
      local list = {}
      for index = 0, #values do list[#list + 1] = values[index] end
      lines[#lines + 1] = name .. ': ' .. table.concat(list, name == 'cookie' and '; ' or ', ')
    end
  end
  return table.concat(lines, '\n') .. '\n\n'
end

local function read_answer(socket)
  local line = socket:receive('*l')
  if not line then return nil end
  local route = line:match('^forward (%S+)$')
  if route then return { route = route } end
  local cell = line:match('^lead (%S+)$')
  if cell then return { cell = cell } end
  if line == 'own' then return { own = true } end
  local status, count, size = line:match('^answer (%d+) (%d+) (%d+)$')
  if not status then return nil end
  local answer = { status = tonumber(status), headers = {}, body = '' }
  for _ = 1, tonumber(count) do
    local header = socket:receive('*l')
    if not header then return nil end
    local name, value = header:match('^([^:]+): (.*)$')
    if not name then return nil end
    table.insert(answer.headers, { name, value })
  end
  if tonumber(size) > 0 then answer.body = socket:receive(tonumber(size)) end
  return answer.body and answer or nil
end

local function ask(text)
  local socket = core.tcp()
  socket:settimeout(ANSWER_SECONDS)
  local answer = nil
  if socket:connect(GATE) and socket:send(text) then answer = read_answer(socket) end
  socket:close()
  return answer
end

-- Returns the first result of `try` that is not nil, retrying until the timeout.
local function patiently(try)
  local deadline = seconds() + PATIENCE_SECONDS
  local result = try()
  while not result and seconds() < deadline do
    core.msleep(RETRY_MS)
    result = try()
  end
  return result
end

-- HAProxy itself does not retry a socket that nothing listens on.
core.register_action('boxyard_await', { 'http-req' }, function()
  patiently(function()
    local socket = core.tcp()
    local is_there = socket:connect(PAGES)
    socket:close()
    return is_there
  end)
end)

-- Acts by an answer. Without one the next rules refuse the request.
local function follow(txn, answer)
  if not answer or answer.own then return end
  if answer.cell then
    txn:set_var('txn.cell', answer.cell)
    return
  end
  if answer.route then
    txn:set_var('txn.route', answer.route)
    txn:set_var('txn.by', 'gate')
    return
  end
  local reply = txn:reply({ status = answer.status })
  for _, header in ipairs(answer.headers) do reply:add_header(header[1], header[2]) end
  reply:set_body(answer.body)
  txn:done(reply)
end

core.register_action('boxyard_ask', { 'http-req' }, function(txn)
  local text = question(txn, txn:get_var('txn.host'), txn:get_var('txn.led') and ' led' or '')
  follow(txn, patiently(function() return ask(text) end))
end)

-- In a fleet only: asks whether another cell has the host that a page of the agent is for.
core.register_action('boxyard_own', { 'http-req' }, function(txn)
  local host = txn:get_var('txn.sought') or ''
  if not host:match('^[%w.-]+$') then return end
  local text = question(txn, host, ' own')
  follow(txn, ask(text))
end)
