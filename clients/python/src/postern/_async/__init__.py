"""The client. `_async` is the source, and tools/unasync.py generates `_sync` from it."""
