/** A volume as the OpenAPI document shows one. */
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
