"""Many rows, one prompt, one contract: each row a run, each run a record.

Three things that know nothing of each other: rows come in (`reading` and the modules it opens, `keys`), one row's run
makes a record (`plan`, `template`, `running`), records go out (`records`, `output`, `parquet`). Between them: how many
requests at once (`pacing`), when the batch has to stop (`bounds`), and the loop that holds it together (`work`).

Must not go in here: rules of a run, how a person is shown a batch (`cli.batch`).
"""
