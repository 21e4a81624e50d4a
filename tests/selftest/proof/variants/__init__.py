"""Services that conform but differ from the sandbox in what the document does not show. Importing this registers them all."""

from importlib import import_module
from pathlib import Path

for _theme in sorted(path.stem for path in Path(__file__).parent.glob("[!_]*.py")):
    import_module(f"{__name__}.{_theme}")
