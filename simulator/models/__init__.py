"""One chat-model interface; openai, anthropic, transformers, offline and replay backends."""
