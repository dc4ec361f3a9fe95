# The official anthropic package: only the base URL and the API key are Postern's.
from anthropic import Anthropic

from postern import api_key, base_url

client = Anthropic(base_url=base_url, api_key=api_key)

with client.messages.stream(
    model="claude-opus-5-5",
    max_tokens=1024,
    messages=[{"role": "user", "content": "Say this is a test"}],
) as stream:
    for text in stream.text_stream:
        print(text, end="", flush=True)
print()
