"""The only place that awaits the core's actions: the driver and what it is given.

`session.open_session` puts a session together from a `config.RunConfig`; `driver.Driver` runs its messages;
`finish.finish` makes the result. Must not go in here: rules (`core`), wire formats (`wire`), what a person sees (`cli`).
"""
