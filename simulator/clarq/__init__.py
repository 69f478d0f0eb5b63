"""ClarQ-LLM: a seeker gathers information from a provider that answers from a response tree."""
