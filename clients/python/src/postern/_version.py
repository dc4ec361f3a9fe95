"""The version, written by clients/version.mjs."""

__version__ = "0.1.0"
"""The version of the package."""
