"""How many tokens an answer may take unless something else is asked for: one number a verb, for all faces."""

CATALOG_TOKENS = 600
READ_TOKENS = 4_000
RECALL_TOKENS = 8_000
ASSEMBLE_TOKENS = 60_000
