"""Pages to look at: a run, a list of runs, a batch, a probe, each as one self-contained HTML file.

`markup` makes HTML that cannot be broken out of, `page` puts a page together under a strict content security policy,
`charts` draws. Everything that a model or a user wrote is hostile text here.

Must not go in here: what a run means (the records say it), routes of the HTTP server (`lastcall.server`).
"""
