const snapshot = {
  id: 'snp_01jd3n2b4c6d8e0f2g4h6j8k0m',
  name: 'before-upgrade',
  project: 'demo',
  box: null,
  volume: 'db',
  comment: 'Schema 41.',
  created_at: '2026-11-20T09:30:00.000Z',
  size_bytes: 4194304,
  unique_bytes: 65536,
  automatic: false,
  data: [],
}
const unmeasured = { ...snapshot, size_bytes: null, unique_bytes: null }

/** Those of the operations on snapshots of data volumes. */
export const VOLUME_SNAPSHOT_EXAMPLES = {
  createVolumeSnapshot: { body: { name: 'before-upgrade', comment: 'Schema 41.' }, response: unmeasured },
  listVolumeSnapshots: { response: { snapshots: [unmeasured], has_more: false, next_continuation_token: null } },
  getVolumeSnapshot: { response: snapshot },
  deleteVolumeSnapshot: {},
  restoreVolume: {
    body: { snapshot: 'before-upgrade' },
    response: {
      id: 'vol_01jd3m7a1b2c3d4e5f6g7h8j9k',
      name: 'db',
      project: 'demo',
      size_gb: 10,
      used_bytes: 16384,
      created_at: '2026-11-20T08:14:00.000Z',
      updated_at: '2026-11-20T10:02:11.087Z',
      attachments: [{ box: 'web', path: '/var/lib/db', read_only: false }],
      from: null,
      backup_schedule: null,
      tags: {},
    },
  },
}
