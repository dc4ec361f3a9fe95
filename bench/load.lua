-- The load: POST /api/ai/complete. The arguments are the keys, separated by commas and used in turn; "unique" or "same"; a
-- name for the round, so that no round repeats another's prompts; and optionally another path, whose body is OpenAI's, and
-- more headers as name=value, separated by semicolons. It prints one line of JSON. In it, "errors" counts errors of every
-- kind, and "failed" only responses with an error status.
local keys, mode, round, path, sent = {}, "", "", "/api/ai/complete", 0
local choice = '"quality":"balanced"'

local prompt = [[You are the assistant of a shop for second-hand books. Answer in two sentences, politely, and say ]]
  .. [[\"I do not know\" when you do not.\nThe customer wrote: I ordered \"The Count of Monte Cristo\" (Penguin, ]]
  .. [[2003) nine days ago, the tracking page says \u201cin transit\u201d since Tuesday, and I would like to have ]]
  .. [[it before the weekend \u2013 is that still possible? My order is number ]]

function init(args)
  for key in args[1]:gmatch("[^,]+") do keys[#keys + 1] = key end
  mode, round = args[2], args[3]
  if args[4] then
    path, choice = args[4], '"model":"gpt-4.1-mini"'
  end
  wrk.headers["content-type"] = "application/json"
  for name, value in (args[5] or ""):gmatch("([^=;]+)=([^;]+)") do wrk.headers[name] = value end
end

function request()
  sent = sent + 1
  local name = mode == "unique" and round .. "-" .. sent or "0"
  wrk.headers["x-api-key"] = keys[sent % #keys + 1]
  local body = '{"messages":[{"role":"user","content":"' .. prompt .. name .. '."}],' .. choice .. '}'
  return wrk.format("POST", path, nil, body)
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"seconds":%.6f,"errors":%d,"failed":%d,"p50ms":%.3f,"p99ms":%.3f}\n', summary.requests, summary.duration / 1e6,
    e.connect + e.read + e.write + e.status + e.timeout, e.status, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
