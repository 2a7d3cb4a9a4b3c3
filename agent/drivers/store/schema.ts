/**
 * Scripts of the schema, one per version. The n-th migrates from version n-1 to n. A script that has landed never changes. A start copies
 * the database, migrates forward in one transaction and refuses a newer one.
 */
export const MIGRATIONS: readonly string[] = [
  `
  CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE boxes (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL,
    status TEXT NOT NULL, record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX boxes_by_name ON boxes (project, name);
  CREATE INDEX boxes_by_status ON boxes (status);
  CREATE TABLE tombstones (id TEXT PRIMARY KEY, root TEXT NOT NULL, created_at INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE tokens (
    id TEXT PRIMARY KEY, created_by TEXT, ends_at INTEGER, revoked_at INTEGER, record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX tokens_by_creator ON tokens (created_by);
  CREATE TABLE operations (id TEXT PRIMARY KEY, created_at INTEGER NOT NULL, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE execs (
    id TEXT PRIMARY KEY, box_id TEXT NOT NULL, status TEXT NOT NULL, record TEXT NOT NULL,
    bytes INTEGER NOT NULL, stdout BLOB, stderr BLOB
  ) STRICT;
  CREATE INDEX execs_by_box ON execs (box_id, id, status, bytes);
  CREATE INDEX execs_running ON execs (status) WHERE status = 'running';
  CREATE TABLE bases (name TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE idempotency (
    token TEXT NOT NULL, key TEXT NOT NULL, fingerprint TEXT NOT NULL, created_at INTEGER NOT NULL, answer TEXT,
    PRIMARY KEY (token, key)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX idempotency_by_time ON idempotency (created_at);
  `,
  `
  UPDATE boxes SET record = json_set(record, '$.mounts', json('[]'));
  UPDATE execs SET record = json_set(record, '$.detached', json('false'));
  ALTER TABLE boxes ADD COLUMN power TEXT AS (record ->> '$.desired.power');
  ALTER TABLE boxes ADD COLUMN cpus REAL AS (record ->> '$.config.cpus');
  ALTER TABLE boxes ADD COLUMN ram_mb INTEGER AS (record ->> '$.config.ram_mb');
  ALTER TABLE boxes ADD COLUMN storage_gb REAL AS (record ->> '$.config.storage_gb');
  CREATE INDEX boxes_by_use ON boxes (project, power, cpus, ram_mb, storage_gb);
  CREATE TABLE volumes (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, record TEXT NOT NULL,
    size_gb REAL AS (record ->> '$.sizeGb')
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX volumes_by_name ON volumes (project, name);
  CREATE INDEX volumes_by_use ON volumes (project, size_gb);
  CREATE TABLE attachments (
    box_id TEXT NOT NULL, volume_id TEXT NOT NULL, path TEXT NOT NULL, read_only INTEGER NOT NULL,
    PRIMARY KEY (box_id, volume_id)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX attachments_by_volume ON attachments (volume_id);
  CREATE UNIQUE INDEX attachments_one_writer ON attachments (volume_id) WHERE read_only = 0;
  CREATE TABLE quotas (project TEXT PRIMARY KEY, record TEXT NOT NULL) STRICT, WITHOUT ROWID;
  `,
  `
  UPDATE execs SET record = json_set(record, '$.tty', json('false'));
  `,
  `
  UPDATE boxes SET record = json_set(record, '$.restore', NULL, '$.restoreFault', NULL);
  UPDATE volumes SET record = json_set(record, '$.from', NULL, '$.backupSchedule', NULL);
  CREATE TABLE snapshots (
    id TEXT PRIMARY KEY, owner TEXT NOT NULL, name TEXT NOT NULL, record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX snapshots_by_name ON snapshots (owner, name);
  CREATE TABLE snapshot_numbers (owner TEXT PRIMARY KEY, last INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  ALTER TABLE bases RENAME TO shared_bases;
  CREATE TABLE bases (
    id TEXT PRIMARY KEY, project TEXT NOT NULL, name TEXT NOT NULL, record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE UNIQUE INDEX bases_by_name ON bases (project, name);
  INSERT INTO bases (id, project, name, record)
    SELECT record ->> '$.id', '', name,
      json_set(record, '$.project', NULL, '$.version', 1, '$.sizeBytes', NULL) FROM shared_bases;
  DROP TABLE shared_bases;
  CREATE TABLE backups (
    id TEXT PRIMARY KEY, volume_id TEXT NOT NULL, project TEXT NOT NULL, status TEXT NOT NULL, record TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX backups_by_volume ON backups (volume_id, id);
  CREATE INDEX backups_running ON backups (status) WHERE status = 'running';
  `,
  `
  CREATE TABLE services (
    box_id TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL, record TEXT NOT NULL,
    PRIMARY KEY (box_id, name)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  UPDATE boxes SET record = json_set(record, '$.domains', json('[]'));
  UPDATE services SET record = json_set(record, '$.domains', json('[]'));
  CREATE TABLE domains (
    domain TEXT PRIMARY KEY, box_id TEXT NOT NULL, service TEXT NOT NULL
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX domains_by_box ON domains (box_id, service);
  CREATE TABLE edge_grants (
    credential TEXT NOT NULL, scope TEXT NOT NULL, token_id TEXT NOT NULL, project TEXT NOT NULL,
    created_at INTEGER NOT NULL, expires_at INTEGER NOT NULL, PRIMARY KEY (credential, scope)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX edge_grants_by_token ON edge_grants (token_id, created_at);
  CREATE INDEX edge_grants_by_age ON edge_grants (created_at);
  UPDATE boxes SET record = json_set(record, '$.leaseUntil', NULL);
  ALTER TABLE boxes ADD COLUMN idle_stop INTEGER AS (record ->> '$.urlSettings.idle_stop_seconds');
  CREATE INDEX boxes_by_idle_stop ON boxes (idle_stop) WHERE idle_stop IS NOT NULL;
  CREATE TABLE events (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, type TEXT NOT NULL, audience TEXT NOT NULL,
    record TEXT NOT NULL
  ) STRICT;
  CREATE TABLE audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL, project TEXT, actor TEXT, actor_name TEXT,
    operation TEXT, status INTEGER NOT NULL, record TEXT NOT NULL
  ) STRICT;
  `,
  `
  WITH RECURSIVE chain (id, root) AS (
    SELECT id, id FROM tokens WHERE created_by IS NULL OR created_by NOT IN (SELECT id FROM tokens)
    UNION ALL
    SELECT child.id, iif(parent.record ->> '$.projects' = '*'
        AND EXISTS (SELECT 1 FROM json_each(parent.record, '$.permissions') WHERE value = 'admin'), child.id, chain.root)
      FROM chain JOIN tokens AS child ON child.created_by = chain.id JOIN tokens AS parent ON parent.id = chain.id
  )
  UPDATE tokens SET record = json_set(record, '$.root', (SELECT root FROM chain WHERE chain.id = tokens.id));
  ALTER TABLE tokens ADD COLUMN root TEXT AS (record ->> '$.root');
  CREATE INDEX tokens_by_root ON tokens (root);
  CREATE INDEX events_by_audience ON events (audience, number);
  ALTER TABLE audit ADD COLUMN account TEXT NOT NULL DEFAULT '';
  CREATE INDEX audit_by_account ON audit (account, number);
  CREATE TABLE event_floors (audience TEXT PRIMARY KEY, number INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO event_floors SELECT '', coalesce((SELECT min(number) - 1 FROM events),
    (SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0);
  ALTER TABLE idempotency ADD COLUMN account TEXT NOT NULL DEFAULT '';
  ALTER TABLE operations ADD COLUMN project TEXT AS (record ->> '$.project');
  CREATE INDEX operations_by_project ON operations (project, created_at);
  CREATE INDEX idempotency_by_account ON idempotency (account, created_at);
  UPDATE execs SET bytes = bytes + octet_length(record);
  `,
  `
  ALTER TABLE boxes ADD COLUMN bytes INTEGER AS (octet_length(record));
  ALTER TABLE services ADD COLUMN bytes INTEGER AS (octet_length(record) + max(0,
    coalesce(octet_length(record -> '$.spec'), 0) - coalesce(octet_length(record -> '$.active.spec'), 0)));
  CREATE INDEX services_with_fork ON services (box_id, name) WHERE instr(record, '"fork":{') > 0;
  CREATE TABLE record_bytes (project TEXT PRIMARY KEY, bytes INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  INSERT INTO record_bytes SELECT project, sum(bytes) FROM (
    SELECT project, bytes FROM boxes
    UNION ALL SELECT boxes.project, services.bytes FROM services JOIN boxes ON boxes.id = box_id
  ) GROUP BY project;
  CREATE TRIGGER box_bytes_on_insert AFTER INSERT ON boxes BEGIN
    INSERT INTO record_bytes VALUES (NEW.project, NEW.bytes)
      ON CONFLICT (project) DO UPDATE SET bytes = bytes + excluded.bytes;
  END;
  CREATE TRIGGER box_bytes_on_update AFTER UPDATE OF record ON boxes WHEN NEW.bytes <> OLD.bytes BEGIN
    UPDATE record_bytes SET bytes = bytes + NEW.bytes - OLD.bytes WHERE project = NEW.project;
  END;
  CREATE TRIGGER box_bytes_on_delete AFTER DELETE ON boxes BEGIN
    UPDATE record_bytes SET bytes = bytes - OLD.bytes WHERE project = OLD.project;
    DELETE FROM record_bytes WHERE project = OLD.project AND bytes <= 0;
  END;
  CREATE TRIGGER service_bytes_on_insert AFTER INSERT ON services BEGIN
    UPDATE record_bytes SET bytes = bytes + NEW.bytes WHERE project = (SELECT project FROM boxes WHERE id = NEW.box_id);
  END;
  CREATE TRIGGER service_bytes_on_update AFTER UPDATE OF record ON services WHEN NEW.bytes <> OLD.bytes BEGIN
    UPDATE record_bytes SET bytes = bytes + NEW.bytes - OLD.bytes
      WHERE project = (SELECT project FROM boxes WHERE id = NEW.box_id);
  END;
  CREATE TRIGGER service_bytes_on_delete AFTER DELETE ON services BEGIN
    UPDATE record_bytes SET bytes = bytes - OLD.bytes WHERE project = (SELECT project FROM boxes WHERE id = OLD.box_id);
  END;
  `,
  `
  ALTER TABLE services ADD COLUMN outline TEXT NOT NULL DEFAULT '';
  UPDATE services SET outline = json_remove(record, '$.history', '$.spec.command', '$.spec.env', '$.active.spec.command',
    '$.active.spec.env', '$.preview.spec.command', '$.preview.spec.env', '$.previous.spec.command', '$.previous.spec.env',
    '$.next.spec.command', '$.next.spec.env');
  CREATE INDEX services_outlines ON services (box_id, name, outline);
  ALTER TABLE snapshots ADD COLUMN key TEXT AS (record ->> '$.createdBy.idempotencyKey');
  CREATE INDEX snapshots_by_key ON snapshots (owner, key) WHERE key IS NOT NULL;
  `,
  `
  UPDATE services SET outline = json_remove(record, '$.history', '$.spec.command', '$.spec.env', '$.active.spec.command',
    '$.active.spec.env', '$.preview.spec.command', '$.preview.spec.env', '$.previous.spec.command', '$.previous.spec.env',
    '$.next.spec.command', '$.next.spec.env');
  `,
  `
  ALTER TABLE tombstones ADD COLUMN home TEXT;
  `,
  `
  DROP INDEX boxes_by_status;
  CREATE INDEX boxes_by_status ON boxes (status, project);
  DROP INDEX boxes_by_use;
  DROP INDEX volumes_by_use;
  CREATE TABLE project_use (
    project TEXT NOT NULL, id TEXT NOT NULL, is_box INTEGER NOT NULL, cpus REAL NOT NULL, ram_mb INTEGER NOT NULL,
    storage_gb REAL NOT NULL, PRIMARY KEY (project, id)
  ) STRICT, WITHOUT ROWID;
  INSERT INTO project_use
    SELECT project, id, 1, iif(power = 'running', cpus, 0), iif(power = 'running', ram_mb, 0), storage_gb FROM boxes
    UNION ALL SELECT project, id, 0, 0, 0, size_gb FROM volumes;
  CREATE TRIGGER box_use_on_insert AFTER INSERT ON boxes BEGIN
    INSERT INTO project_use VALUES (NEW.project, NEW.id, 1, iif(NEW.power = 'running', NEW.cpus, 0),
      iif(NEW.power = 'running', NEW.ram_mb, 0), NEW.storage_gb);
  END;
  CREATE TRIGGER box_use_on_update AFTER UPDATE OF record ON boxes
    WHEN (NEW.power, NEW.cpus, NEW.ram_mb, NEW.storage_gb) <> (OLD.power, OLD.cpus, OLD.ram_mb, OLD.storage_gb) BEGIN
    UPDATE project_use SET cpus = iif(NEW.power = 'running', NEW.cpus, 0),
      ram_mb = iif(NEW.power = 'running', NEW.ram_mb, 0), storage_gb = NEW.storage_gb
      WHERE project = NEW.project AND id = NEW.id;
  END;
  CREATE TRIGGER box_use_on_delete AFTER DELETE ON boxes BEGIN
    DELETE FROM project_use WHERE project = OLD.project AND id = OLD.id;
  END;
  CREATE TRIGGER volume_use_on_insert AFTER INSERT ON volumes BEGIN
    INSERT INTO project_use VALUES (NEW.project, NEW.id, 0, 0, 0, NEW.size_gb);
  END;
  CREATE TRIGGER volume_use_on_update AFTER UPDATE OF record ON volumes WHEN NEW.size_gb <> OLD.size_gb BEGIN
    UPDATE project_use SET storage_gb = NEW.size_gb WHERE project = NEW.project AND id = NEW.id;
  END;
  CREATE TRIGGER volume_use_on_delete AFTER DELETE ON volumes BEGIN
    DELETE FROM project_use WHERE project = OLD.project AND id = OLD.id;
  END;
  CREATE INDEX backups_by_project ON backups (project) WHERE status <> 'failed';
  `,
  `
  ALTER TABLE tokens ADD COLUMN session TEXT AS (record ->> '$.session');
  CREATE INDEX tokens_by_session ON tokens (session) WHERE session IS NOT NULL;
  `,
]
