# The official openai package: only the base URL and the API key are Postern's.
from openai import OpenAI

from postern import api_key, base_url

client = OpenAI(base_url=f"{base_url}/v1", api_key=api_key)

stream = client.chat.completions.create(
    model="gpt-4o",
    messages=[{"role": "user", "content": "Say this is a test"}],
    stream=True,
)
for chunk in stream:
    if chunk.choices:
        print(chunk.choices[0].delta.content or "", end="", flush=True)
print()
