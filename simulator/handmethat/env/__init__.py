"""The text environment: a pure game core, its texts, its questions, and the Gymnasium environment on top."""
