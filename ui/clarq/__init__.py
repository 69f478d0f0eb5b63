"""The players' pages of ClarQ-LLM: the entry, both seats, the result."""
