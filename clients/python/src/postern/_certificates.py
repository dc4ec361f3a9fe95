"""The certificates that are used to verify servers."""

from __future__ import annotations

import ssl
from functools import lru_cache

import httpx


@lru_cache(maxsize=1)
def certificates() -> ssl.SSLContext:
    """httpx's own context, shared by all clients because reading all certificates takes a tenth of a second."""
    return httpx.create_ssl_context()
