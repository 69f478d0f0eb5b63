"""Files of AmbiK: tables of pairs, KnowNo scenarios, published runs, metric cases."""
