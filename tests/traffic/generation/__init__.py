"""Generated traffic: how cases are made, sent and judged.

`phases` says which phases an operation has and sends them, valid requests among them: `classes` and `schema` give the
cases of each class of invalid ones, `drawn` what Hypothesis draws; `strategies` runs Hypothesis, `collecting` gathers the
findings. Only `drawn`, `schema`, `strategies` and `tuning` import Hypothesis or Schemathesis, and nothing imports them
before a property test runs.
"""
