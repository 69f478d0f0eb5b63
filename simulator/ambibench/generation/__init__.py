"""Items of every setting, from seeds (spec section 5)."""

from simulator.ambibench.generation.finetune import (
    Control,
    draw_finetune,
    generate_evaluation,
    generate_finetune,
)
from simulator.ambibench.generation.open_ended import (
    Question,
    Spelling,
    draw_aws,
    generate_aws,
    generate_verbalise,
)
from simulator.ambibench.generation.settings import (
    Design,
    draw_instruction,
    draw_multiple,
    generate_instruction,
    generate_multiple,
)

__all__ = [
    "Control",
    "Design",
    "Question",
    "Spelling",
    "draw_aws",
    "draw_finetune",
    "draw_instruction",
    "draw_multiple",
    "generate_aws",
    "generate_evaluation",
    "generate_finetune",
    "generate_instruction",
    "generate_multiple",
    "generate_verbalise",
]
