# Made from _async/__init__.py by tools/unasync.py. Change that file.
"""The synchronous client, made from `_async` by tools/unasync.py."""
