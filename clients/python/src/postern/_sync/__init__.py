# Made from _async/__init__.py by tools/unasync.py. Change that file.
"""The asynchronous client. tools/unasync.py generates `_sync` from it."""
