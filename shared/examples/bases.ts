const base = {
  id: 'bas_01jd3m5a1b2c3d4e5f6g7h8j9k',
  name: 'web-ready',
  project: 'demo',
  version: 3,
  size_bytes: 367001600,
  created_at: '2026-11-20T08:30:00.000Z',
  source: 'box:web@before-upgrade',
  used_by: null,
}
const usedBase = { ...base, used_by: { boxes: [{ project: 'demo', name: 'web-2' }], count: 1 } }

/** Examples of the operations on bases. */
export const BASE_EXAMPLES = {
  createBase: {
    body: { name: 'web-ready', box: 'web', snapshot: 'before-upgrade' },
    response: { ...base, used_by: { boxes: [], count: 0 }, size_bytes: null },
  },
  listBases: { response: { bases: [base], has_more: false, next_continuation_token: null } },
  listSharedBases: {
    response: {
      bases: [{ ...base, name: 'debian', project: null, version: 1, source: 'host' }],
      has_more: false,
      next_continuation_token: null,
    },
  },
  getBase: { response: usedBase },
  deleteBase: {},
}
