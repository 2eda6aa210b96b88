"""What tests and benchmarks of others need to drive Recollect; nothing in the product imports it."""
