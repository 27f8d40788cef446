"""The version, written once more than in `pyproject.toml` because reading package metadata costs 20 ms at each start."""

VERSION = "0.1.0"
