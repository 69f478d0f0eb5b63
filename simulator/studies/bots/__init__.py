"""Participants that are programs: `askback study bots` lets them take part in a study over HTTP."""
