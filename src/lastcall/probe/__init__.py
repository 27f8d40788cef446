"""The probe: how a model behaves against each kind of constraint, measured through the real machine.

Cases are values (`cases`, `families`, `suites`), a trial is one run of one case (`trials`), how it ended is read off the
run's own result (`endings`), and the file of a probe (`sheet`) is its checkpoint: whatever kills it, the same command
goes on. Counting (`tally`), comparing (`comparing`) and the page (`page`) read that file and nothing else.

Must not go in here: a second judgement of an object; what counts is the ledger of the run.
"""
