"""The published meta-schemas, one module a dialect, imported only when a schema is checked against one.

They are Python literals and not files, so that a pure layer reads nothing from disk. Must not go in here: code.
"""
