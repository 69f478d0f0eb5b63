"""What is told of episodes: scored, in tables by level and by questions asked, turn by turn."""
