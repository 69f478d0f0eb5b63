"""``python -m logs.schema`` writes ``schema.md`` anew."""

from logs.schema.document import DOCUMENT, render

if __name__ == "__main__":
    DOCUMENT.write_text(render(), encoding="utf-8")
    print(f"wrote {DOCUMENT}")
