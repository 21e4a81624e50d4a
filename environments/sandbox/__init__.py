"""The sandbox: a small, conforming reference implementation of the whole interface, over real HTTP.

| module | what it has |
|---|---|
| `service.py` | `Service`: the operations, such as the registration of a key |
| `protocol.py` | what all operations share: routes, the token, JSON, the envelope, refusals |
| `double_entry.py` | accounts, keys, transfers and entries, in a database in memory |
| `server.py` | `Server`: HTTP on a port of this machine |
| `__main__.py` | `python -m environments.sandbox`: the sandbox alone |

What the interface document does not show, and what the sandbox chooses. Another service may choose otherwise.

====================================  =====================================================================
not shown                             the sandbox
====================================  =====================================================================
which operations require the token    all
where a token comes from, how long    given at the start, or random; lives as long as the service
the scheme's letter case              ignored; the token is compared exactly
a refusal                             envelope {code: <HTTP status>, data: {error: <text>}}; the text repeats
                                      nothing of the request
body not JSON, or a field wrong       400; unknown fields are ignored
body nested deeper than 500 levels    400
no token, or another one              401, with WWW-Authenticate: Bearer
unknown path, account, code or key    404
another method on a known path        405, with Allow; HEAD and OPTIONS too
a code executed before                409, and no money moves
a body above 1 MiB                    413
a body without Content-Length          400
a body that is not application/json   415
well-formed, but impossible           422: undocumented key type (numeric ones too), key not in the format of
                                      its type, too little money, a key of the paying account
other limits                          amounts and dates up to 10^13; none on rate or number of keys
accountId                             ac-0001, ac-0002, ac-0003
transactionId                         SBX-PHONE-1 and five more (seeds.sql); SBX- and 16 hexadecimal digits
statuses and transitions              PREPARED, then DONE, by execution alone
date                                  milliseconds since 1970, of the execution
accountType                           1 checking, 2 savings, 3 payment
mask of document                      ***.456.789-** for a CPF, **.345.678/0001-** for a CNPJ
required fields of a registration     pixKeyType; pixKey unless RANDOM; account may be left out
account in body and path              the same, or 422
format of pixKey                      PHONE: E.164; EMAIL: an address; CPF, CNPJ (with letters too): right
                                      check digits, no punctuation; RANDOM: a UUID, or empty or left out,
                                      and the service makes it
Key of a registration                 the key; null where the service made it (listPixKeys shows it)
a key that is registered already      200, code 0, Success "false"; it stays where it is
DocumentNumber                        1, 2, 3, … one for each registration that was understood
DELETE /v1/pix/keys/{accountId}       {pixKey} -> {message}
GET /v1/pix/keys/{accountId}          {keys: [{pixKey, pixKeyType}]}
GET /v1/accounts                      {accounts: [{id, name, document (masked), bank, branch, account, digit,
                                      accountType}]}
GET /v1/accounts/balance/{accountId}  {account, balance}
GET /v1/accounts/entries/{accountId}  {entries: [{transactionId, date, value}]}, negative for what goes out
POST /v1/pix                          {account, pixKey, value, message?} -> preparation
POST /v1/transfer/external            {from, to, value, date} -> preparation
POST /v1/transfer/internal            the same and description?
POST /v1/transfer/p2p                 the same and description?
from, to                              an account, a registered PIX key
value, date, description              reais with at most two decimals, milliseconds since 1970, text
preparation                           {transactionId, status, value, date}; no money moves yet
====================================  =====================================================================
"""

from __future__ import annotations

from environments.sandbox.double_entry import Database, Key, Transfer
from environments.sandbox.protocol import Data, Headers, Refusal, Request, Response
from environments.sandbox.server import Server
from environments.sandbox.service import Service

__all__ = ["Data", "Database", "Headers", "Key", "Refusal", "Request", "Response", "Server", "Service", "Transfer"]
