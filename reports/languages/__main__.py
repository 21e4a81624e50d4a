"""`python -m reports.languages`: brings every catalogue up to date with what the suite can say."""

from __future__ import annotations

from reports.languages.language import catalogues
from reports.languages.refreshing import refresh


def main() -> None:
    """Print a line for each catalogue."""
    for tag, file in catalogues().items():
        untranslated, obsolete = refresh(file)
        print(f"{tag}: {untranslated} entries to translate, {obsolete} obsolete")


if __name__ == "__main__":
    main()
