"""What happens in a conversation, and what it is worth."""
