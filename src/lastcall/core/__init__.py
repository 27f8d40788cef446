"""The machine: events in, records and actions out.

`decide(state, event)` holds all the rules and gives a `Step`: the new state, the records that are true from now on, the
actions that the driver must do. `evolve(state, record)` holds no rule and folds one record into the state. So a session is
its list of records, and whatever shows a run (journal, stream, viewer, replay) is a view of that list.

What is settled here:

- *When is a run over?* When nothing is open (no request, no tool, no check) and one rule of `decide._settled` fits: an
  object survives; a decline was accepted; the attempts are used up; a limit is reached; the model stopped although asked.
- *What counts as an attempt?* Every call of a finishing tool, whatever became of it, also when a fallback took it back.
- *What is taken back?* The blocks, answers and objects of the messages that a retry or fallback names; only what was said
  since the last request can be, so closed history never changes.
- *What does the model see next?* `request.build_request(state)`, computed each time. A call without an answer cannot occur
  in it, nor an answer without a call.

The core has no clock, makes no ids, does no I/O, and never awaits. Time and ids come with events; what must happen outside
goes out as actions, whose outcomes come back as events. It is entered from one place only, the driver's loop.
"""
