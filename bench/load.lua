-- The load: POST /api/ai/complete. Arguments: the key, "unique" or "same", and a name for the round, so that
-- no round repeats another's prompts. Prints one line of JSON.
local key, mode, round, sent = "", "", "", 0

local prompt = [[You are the assistant of a shop for second-hand books. Answer in two sentences, politely, and say ]]
  .. [[\"I do not know\" when you do not.\nThe customer wrote: I ordered \"The Count of Monte Cristo\" (Penguin, ]]
  .. [[2003) nine days ago, the tracking page says \u201cin transit\u201d since Tuesday, and I would like to have ]]
  .. [[it before the weekend \u2013 is that still possible? My order is number ]]

function init(args)
  key, mode, round = args[1], args[2], args[3]
  wrk.headers["content-type"] = "application/json"
  wrk.headers["x-api-key"] = key
end

function request()
  sent = sent + 1
  local name = mode == "unique" and round .. "-" .. sent or "0"
  local body = '{"messages":[{"role":"user","content":"' .. prompt .. name .. '."}],"quality":"balanced"}'
  return wrk.format("POST", "/api/ai/complete", nil, body)
end

function done(summary, latency)
  local e = summary.errors
  io.write(string.format(
    '\n{"requests":%d,"seconds":%.6f,"errors":%d,"p50ms":%.3f,"p99ms":%.3f}\n', summary.requests, summary.duration / 1e6,
    e.connect + e.read + e.write + e.status + e.timeout, latency:percentile(50) / 1e3, latency:percentile(99) / 1e3))
end
