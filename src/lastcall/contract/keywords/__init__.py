"""What each keyword means, one file a group of values.

Each file holds `BUILDERS`: keyword -> function that makes the check for one node and one class of values, or `None` where
there is nothing to check. A builder may trust the keyword's value: the schema passed its meta-schema before. Applicators
are written once, as walks (`contract.checking`).

Must not go in here: the order of keywords (`contract.nodes`), wording beyond the reference's plain messages.
"""
