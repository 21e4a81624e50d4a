"""The one pen: everything that leaves the process passes a `Redactor` (design, "One pen").

Pure: no I/O, no clock. Read `redactor` first, then `engine`; the other modules answer one question each:
`encodings` (how a value may be written), `values` (where it stands), `detectors` (what looks personal),
`masks` (what is shown instead), `json_text` and `markup` (which field a text belongs to), `shell` (curl).
"""

from reports.redaction.redactor import Redactor, redactor_of

__all__ = ["Redactor", "redactor_of"]
