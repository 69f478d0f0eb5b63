"""From decisions to prediction sets (spec 7): confidences, right options, sets, what was promised of them."""
