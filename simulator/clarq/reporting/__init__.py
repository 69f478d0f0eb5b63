"""What is told of dialogues: scored, in tables, two runs side by side, as reviewers saw them."""
