# OpenAI's chat completions API, streamed over plain HTTP with httpx.
import json

import httpx

from postern import api_key, base_url

request = {"model": "gpt-4o", "messages": [{"role": "user", "content": "Say this is a test"}], "stream": True}
headers = {"Authorization": f"Bearer {api_key}"}

with httpx.stream("POST", f"{base_url}/v1/chat/completions", headers=headers, json=request, timeout=60) as response:
    if response.is_error:
        raise SystemExit(f"{response.status_code}: {response.read().decode()}")
    for line in response.iter_lines():
        name, _, data = line.strip().partition(": ")
        if name != "data" or data == "[DONE]":
            continue
        chunk = json.loads(data)
        if "error" in chunk:
            raise SystemExit(chunk["error"]["message"])
        for choice in chunk["choices"]:
            print(choice["delta"].get("content") or "", end="", flush=True)
print()
