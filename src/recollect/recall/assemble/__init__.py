"""The five passes of `recollect.recall.assemble.run`: plan, gather, expand, select, compose."""
