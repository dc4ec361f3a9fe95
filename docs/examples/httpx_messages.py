# Anthropic's messages API, streamed over plain HTTP with httpx.
import json

import httpx

from postern import api_key, base_url

message = {"role": "user", "content": "Say this is a test"}
request = {"model": "claude-opus-5-5", "max_tokens": 1024, "messages": [message], "stream": True}
headers = {"x-api-key": api_key, "anthropic-version": "2023-06-01"}

with httpx.stream("POST", f"{base_url}/v1/messages", headers=headers, json=request, timeout=60) as response:
    if response.is_error:
        raise SystemExit(f"{response.status_code}: {response.read().decode()}")
    for line in response.iter_lines():
        name, _, data = line.strip().partition(": ")
        event = json.loads(data) if name == "data" else {}
        if event.get("type") == "error":
            raise SystemExit(event["error"]["message"])
        if event.get("type") == "content_block_delta":
            print(event["delta"].get("text", ""), end="", flush=True)
print()
