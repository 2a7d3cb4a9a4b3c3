import { box } from './boxes.ts'
import { volume } from './volumes.ts'

const snapshot = {
  id: 'snp_01jd8z0000000000000000000e',
  name: 'before-upgrade',
  project: 'demo',
  box: 'web',
  volume: null,
  comment: 'Works.',
  created_at: '2026-11-20T08:15:30.123Z',
  size_bytes: 3145728,
  unique_bytes: 16384,
  automatic: false,
  data: [{ name: 'db', path: '/var/lib/db', read_only: false }],
}
const volumeSnapshot = {
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
const unmeasured = { ...volumeSnapshot, size_bytes: null, unique_bytes: null }

/** Examples of the operations on snapshots of boxes and data volumes. */
export const SNAPSHOT_EXAMPLES = {
  createBoxSnapshot: {
    body: { name: 'before-upgrade', comment: 'Works.', include_data: true },
    response: { ...snapshot, unique_bytes: null },
  },
  listBoxSnapshots: {
    response: { snapshots: [{ ...snapshot, unique_bytes: null }], has_more: false, next_continuation_token: null },
  },
  getBoxSnapshot: { response: snapshot },
  deleteBoxSnapshot: {},
  restoreBox: { body: { snapshot: 'before-upgrade' }, response: box },
  diffBoxSnapshot: {
    response: {
      changes: [
        {
          ...{ kind: 'renamed', path: '/etc/web.conf', path_base64: null, from: '/etc/old.conf', from_base64: null },
          ...{ modified: true, type: 'file', size_bytes: 512 },
        },
      ],
      has_more: false,
      next_continuation_token: null,
    },
  },
  createVolumeSnapshot: { body: { name: 'before-upgrade', comment: 'Schema 41.' }, response: unmeasured },
  listVolumeSnapshots: { response: { snapshots: [unmeasured], has_more: false, next_continuation_token: null } },
  getVolumeSnapshot: { response: volumeSnapshot },
  deleteVolumeSnapshot: {},
  restoreVolume: {
    body: { snapshot: 'before-upgrade' },
    response: { ...volume, used_bytes: 16384, updated_at: '2026-11-20T10:02:11.087Z' },
  },
}
