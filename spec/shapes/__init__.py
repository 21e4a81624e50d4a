"""The shape of answers that the interface document does not show: an inferred JSON Schema (2020-12), which has names of
members, types and formats, and never a value.

Source: interface document, Resources and their fields, last line. `inference` makes and merges shapes, `data_names`
says which members are no names of a schema, with the words of `field_words`, `shape_text` writes a shape on one line,
`contradictions` compares two, `filling` keeps of one what another does not say.
"""

from spec.shapes.contradictions import Difference, differences
from spec.shapes.filling import filled
from spec.shapes.inference import merged, shape_of
from spec.shapes.schema_parts import Shape
from spec.shapes.shape_text import text_of

__all__ = ["Difference", "Shape", "differences", "filled", "merged", "shape_of", "text_of"]
