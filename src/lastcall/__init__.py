"""lastcall: an agent run that ends in a verified object, or says exactly why not."""
