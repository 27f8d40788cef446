"""The vocabulary: frozen values, no behaviour beyond small properties.

Six states must never be confused, and each has its own type and one factory:

1. `OutputSchema`: what the caller asked for (`contract.parse`).
2. `StrictSchema`: the closed subset for the decoder (`contract.strict`); never validates.
3. `ToolDefinition`: what the model is shown (`nouns.tools.define`); carries no behaviour.
4. `ToolCall`: what the model asked for (`wire.json.read_call`); never repaired.
5. `Attachment`: an object that passed the contract (`core.decide`); never made from prose.
6. `TerminalResult`: how the run ended (`runtime.driver`); never a success without an object.

This package imports nothing but `lastcall.errors`. Import from its modules; it re-exports nothing, so that a command
loads only what it needs.
"""
