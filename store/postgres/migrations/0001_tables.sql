-- An object exists as soon as it has a row or an alarm. Its version is a random number that changes with its rows: a
-- replica may use rows that it remembers for the version. The alarm is in Unix milliseconds.
CREATE TABLE postern_objects (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  class smallint NOT NULL,
  name text COLLATE "C" NOT NULL,
  version bigint NOT NULL,
  alarm bigint,
  UNIQUE (class, name)
) WITH (fillfactor = 50);

CREATE INDEX postern_objects_alarm ON postern_objects (alarm, name) WHERE alarm IS NOT NULL;

-- Keys are compared as bytes. There is no foreign key: objects are never deleted, and rows change only while their object
-- is locked.
CREATE TABLE postern_rows (
  object bigint NOT NULL,
  key text COLLATE "C" NOT NULL,
  value bytea NOT NULL,
  PRIMARY KEY (object, key)
) WITH (fillfactor = 50);

-- expires is in Unix milliseconds; null: never.
CREATE TABLE postern_kv (
  key text COLLATE "C" PRIMARY KEY,
  value bytea NOT NULL,
  expires bigint
);

CREATE INDEX postern_kv_expires ON postern_kv (expires) WHERE expires IS NOT NULL;

-- One row, written to check that the database accepts changes.
CREATE TABLE postern_check (
  id smallint PRIMARY KEY,
  checked timestamptz NOT NULL
);
