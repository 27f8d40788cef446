"""lastcall for people who write Python: `run`, `arun`, `stream`, `Session`, and what they take and give.

The names are reached through the package itself (`lastcall.run`), which loads this layer on first use.

Must not go in here: rules of a run, anything that the command needs.
"""
