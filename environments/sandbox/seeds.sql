-- The world that every sandbox starts with. People, firms, banks and numbers are made up.

INSERT INTO accounts VALUES
  ('clearing', 'CLEARING',  'Settlement with other banks', '12345678000195', '999', '0001', '0000001', '0', 9),
  ('ac-0001',  'OWN',       'Padaria Aurora Ltda',         '11222333000181', '999', '0001', '1000017', '4', 1),
  ('ac-0002',  'OWN',       'Marina Duarte',               '52998224725',    '999', '0001', '1000025', 'X', 2),
  ('ac-0003',  'OWN',       'Estúdio Ipê S.A.',            '12ABC34501DE35', '999', '0002', '2000038', '0', 1),
  ('cp-phone', 'ELSEWHERE', 'João Batista da Silva',       '12345678909',    '901', '0341', '0098765', '3', 1),
  ('cp-email', 'ELSEWHERE', 'Oficina Boa Viagem ME',       '12345678000276', '902', '1204', '55501',   '0', 1),
  ('cp-random','ELSEWHERE', 'Ana Lúcia Prado',             '98765432100',    '903', '0001', '7654321', 'X', 3),
  ('cp-cnpj',  'ELSEWHERE', 'Construtora Horizonte S.A.',  '98765432000198', '901', '2800', '1234567', '8', 1),
  ('cp-cpf',   'ELSEWHERE', 'Téo Nunes',                   '24681357928',    '904', '0077', '313131',  '1', 2);

INSERT INTO keys VALUES
  ('c0ffee00-0001-4000-8000-000000000001', 'RANDOM', 'ac-0001'),
  ('c0ffee00-0002-4000-8000-000000000002', 'RANDOM', 'ac-0002'),
  ('c0ffee00-0003-4000-8000-000000000003', 'RANDOM', 'ac-0003'),
  ('+5511955500101',                       'PHONE',  'cp-phone'),
  ('contato@oficina.example',              'EMAIL',  'cp-email'),
  ('5eed0000-0004-4000-8000-00000000c0de', 'RANDOM', 'cp-random'),
  ('98765432000198',                       'CNPJ',   'cp-cnpj'),
  ('24681357928',                          'CPF',    'cp-cpf');

-- The own accounts' opening balances came in from other banks.
INSERT INTO transfers VALUES
  ('SBX-OPENING-1', 'clearing', 'ac-0001', 'RANDOM', 'c0ffee00-0001-4000-8000-000000000001',
   500000000, 'Opening balance', 1767225600000, 'DONE'),
  ('SBX-OPENING-2', 'clearing', 'ac-0002', 'RANDOM', 'c0ffee00-0002-4000-8000-000000000002',
   2500000, 'Opening balance', 1767225600000, 'DONE'),
  ('SBX-OPENING-3', 'clearing', 'ac-0003', 'RANDOM', 'c0ffee00-0003-4000-8000-000000000003',
   100000001, 'Opening balance', 1767225600000, 'DONE');

INSERT INTO entries (transfer, account, cents)
  SELECT id, payer, -cents FROM transfers UNION ALL SELECT id, payee, cents FROM transfers;

-- One prepared transfer for each key type, and a second one to a phone: whole reais, cents, one cent, a large amount.
INSERT INTO transfers VALUES
  ('SBX-PHONE-1',  'ac-0001', 'cp-phone',  'PHONE',  '+5511955500101',
   15000, 'Aluguel de março', 1767312000000, 'PREPARED'),
  ('SBX-EMAIL-1',  'ac-0001', 'cp-email',  'EMAIL',  'contato@oficina.example',
   1234, 'Revisão "dos 10 mil"', 1767312060000, 'PREPARED'),
  ('SBX-RANDOM-1', 'ac-0002', 'cp-random', 'RANDOM', '5eed0000-0004-4000-8000-00000000c0de',
   1, '', 1767312120000, 'PREPARED'),
  ('SBX-CNPJ-1',   'ac-0001', 'cp-cnpj',   'CNPJ',   '98765432000198',
   123456789, 'Nota 4471, parcela 2/3', 1767312180000, 'PREPARED'),
  ('SBX-CPF-1',    'ac-0003', 'cp-cpf',    'CPF',    '24681357928',
   8990, 'Café ☕', 1767312240000, 'PREPARED'),
  ('SBX-PHONE-2',  'ac-0001', 'cp-phone',  'PHONE',  '+5511955500101',
   2500, '', 1767312300000, 'PREPARED');
