"""lastcall over HTTP: runs, their streams, drop-in endpoints of two vendors, and what a server needs to be operated.

Must not go in here: rules of a run, what an envelope looks like, the command (`cli.serve`), pages (`viewer`).
"""
