"""The asynchronous client. tools/unasync.py generates `_sync` from it."""
