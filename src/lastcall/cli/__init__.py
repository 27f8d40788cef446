"""What people touch: the command. No rule of a run lives here."""
