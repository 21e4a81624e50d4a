"""Generated traffic: how cases are made, sent, judged and made small.

`items` says which phases an operation has, `harmless` keeps what is generated from naming anybody, `classes`
and `schema` give the cases of the coverage phase, `drawn` those of the fuzzing phase, `positive` the valid ones;
`search` runs Hypothesis, `collecting` gathers the findings. Only `drawn`, `schema` and `search` import Hypothesis
or Schemathesis, and nothing imports those three before a property test runs.
"""
