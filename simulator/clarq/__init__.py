"""ClarQ-LLM: a seeker gathers information from a provider that answers out of a response tree."""
