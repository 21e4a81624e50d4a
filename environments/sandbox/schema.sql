-- Money is in integer cents. A balance is the sum of an account's entries, and all entries sum to zero.

CREATE TABLE accounts (
  id       TEXT PRIMARY KEY,
  role     TEXT NOT NULL CHECK (role IN ('OWN', 'ELSEWHERE', 'CLEARING')),
  name     TEXT NOT NULL,
  document TEXT NOT NULL,      -- CPF or CNPJ without punctuation
  bank     TEXT NOT NULL,
  branch   TEXT NOT NULL,
  number   TEXT NOT NULL,
  digit    TEXT NOT NULL,
  type     INTEGER NOT NULL
);

CREATE TABLE keys (
  key     TEXT PRIMARY KEY,
  type    TEXT NOT NULL,
  account TEXT NOT NULL REFERENCES accounts
);

CREATE TABLE transfers (
  id       TEXT PRIMARY KEY,   -- the transaction code
  payer    TEXT NOT NULL REFERENCES accounts,
  payee    TEXT NOT NULL REFERENCES accounts,
  key_type TEXT NOT NULL,
  key      TEXT NOT NULL,
  cents    INTEGER NOT NULL CHECK (cents > 0),
  message  TEXT NOT NULL,
  date     INTEGER NOT NULL,   -- milliseconds since 1970: asked for, then that of the execution
  status   TEXT NOT NULL CHECK (status IN ('PREPARED', 'DONE'))
);

CREATE TABLE entries (
  number   INTEGER PRIMARY KEY,
  transfer TEXT NOT NULL REFERENCES transfers,
  account  TEXT NOT NULL REFERENCES accounts,
  cents    INTEGER NOT NULL    -- signed: what leaves an account is negative
);

CREATE INDEX entries_by_account ON entries (account);
