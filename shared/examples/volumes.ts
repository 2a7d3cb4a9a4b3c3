import { box } from './boxes.ts'

/** A volume in the OpenAPI document. */
export const volume = {
  id: 'vol_01jd3m7a1b2c3d4e5f6g7h8j9k',
  name: 'db',
  project: 'demo',
  size_gb: 10,
  used_bytes: 4194304,
  created_at: '2026-11-20T08:14:00.000Z',
  updated_at: '2026-11-20T08:15:30.140Z',
  attachments: [{ box: 'web', path: '/var/lib/db', read_only: false }],
  from: null,
  backup_schedule: null,
  tags: {},
}

const mounted = { ...box, data_mounts: [{ name: 'db', path: '/var/lib/db', read_only: false }] }

/** Examples of the operations on data volumes. */
export const VOLUME_EXAMPLES = {
  createVolume: {
    body: { name: 'db', size_gb: 10 },
    response: { ...volume, used_bytes: 16384, attachments: [] },
  },
  listVolumes: { response: { volumes: [volume], has_more: false, next_continuation_token: null } },
  getVolume: { response: volume },
  updateVolume: { body: { size_gb: 20 }, response: { ...volume, size_gb: 20 } },
  deleteVolume: {},
  attachVolume: { body: { box: 'web', path: '/var/lib/db' }, response: mounted },
  detachVolume: { body: { box: 'web' }, response: box },
}
