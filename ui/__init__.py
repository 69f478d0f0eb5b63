"""The web app: pages for players, annotators and researchers."""
