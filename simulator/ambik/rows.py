"""Pairs, scenarios, drafts and items as JSON objects, and items as rows of the log; all hold the whole."""

from __future__ import annotations

from typing import Final

from simulator.ambik.items import Item
from simulator.ambik.pairs import Draft, Pair, Scenario
from simulator.codecs import Codec, ItemCodec

BENCHMARK: Final = "ambik"
LANGUAGE: Final = "en"
"""The benchmark's texts are English; pages around them are in the participant's language."""

PAIRS: Final = Codec[Pair](Pair)
SCENARIOS: Final = Codec[Scenario](Scenario)
DRAFTS: Final = Codec[Draft](Draft)
ITEMS: Final = ItemCodec[Item](Item, BENCHMARK, kinds="kind")

pair_record, read_pair_record = PAIRS.write, PAIRS.read_row
scenario_record, read_scenario_record = SCENARIOS.write, SCENARIOS.read_row
draft_record, read_draft_record = DRAFTS.write, DRAFTS.read_row
item_record, read_item, item_row, item_from_row = ITEMS.write, ITEMS.read, ITEMS.row, ITEMS.read_item
