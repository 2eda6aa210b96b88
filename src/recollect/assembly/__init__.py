"""The five passes of `recollect.assemble`: plan, gather, expand, select, compose."""
