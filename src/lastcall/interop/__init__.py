"""A lastcall contract inside another framework: its structured-output tool, judged and answered as lastcall does.

One module a framework, each importing that framework when it is used: `interop.pydantic_ai`, `interop.langchain`.

Must not go in here: running anything; the framework's own loop stays in charge, with its own idea of an end.
"""
