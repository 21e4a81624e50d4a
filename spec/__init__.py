"""What the interface document requires, how an answer is read, and the rules that judge it.

An order for reading: `requirements.yaml` and `openapi.yaml`, then `requirements.py`, `interface.py`, `message.py`,
`json_text.py`, `exchange.py`, `log.py`, `answers.py`, `findings.py`, `key_list.py`, `facts.py`, `observed.py`, and
`rules/`. Each of them needs only those before it.

A regular package: without this file, any package of this name in the environment would win over the folder.
"""
