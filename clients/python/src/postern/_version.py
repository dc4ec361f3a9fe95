"""The version, written by clients/version.mjs."""

__version__ = "0.1.0"
