"""The gateway's address and an API key: from POSTERN_BASE_URL and POSTERN_API_KEY, else from the .dev/keys.json that a
running `make dev` writes. The file is searched from this folder upward, then from the working directory upward."""

import json
import os
import sys
from pathlib import Path


def dev_keys():
    for start in (Path(__file__).resolve().parent, Path.cwd()):
        for folder in (start, *start.parents):
            file = folder / ".dev/keys.json"
            if file.exists():
                return json.loads(file.read_text())
    return {}


_dev = dev_keys()

# Without a path: OpenAI's SDK needs /v1 after it.
base_url = os.environ.get("POSTERN_BASE_URL") or _dev.get("baseUrl")
api_key = os.environ.get("POSTERN_API_KEY") or _dev.get("gatewayKey")

if not base_url or not api_key:
    sys.exit("Start the gateway with `make dev` first, or set POSTERN_BASE_URL and POSTERN_API_KEY.")
