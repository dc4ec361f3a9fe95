# Made from _async/__init__.py by tools/unasync.py. Change that file.
"""The client. `_async` is the source, and tools/unasync.py generates `_sync` from it."""
