const token = {
  id: 'tok_01jd3mb1c2d3e4f5g6h7j8k9m0',
  name: 'ci',
  projects: ['demo'],
  permissions: ['read', 'exec'],
  expires_at: '2026-11-20T09:15:30.000Z',
  created_at: '2026-11-20T08:15:30.000Z',
  created_by: 'tok_01jd3m0000000000000000000a',
  is_session: false,
  session: null,
  revoked_at: null,
}
const quota = {
  project: 'demo',
  allowed: { boxes: 20, cpus: null, ram_mb: 16384, storage_gb: 200 },
  used: { boxes: 3, cpus: 3, ram_mb: 1536, storage_gb: 40, stored_bytes: 9_663_676_416 },
  updated_at: '2026-11-20T08:00:00.000Z',
}

/** Examples of the operations on tokens, tickets and quotas. */
export const ACCESS_EXAMPLES = {
  getMe: {
    response: {
      id: token.id,
      name: 'ci',
      projects: ['demo'],
      permissions: ['read', 'exec'],
      expires_at: token.expires_at,
      on_behalf_of: null,
    },
  },
  createToken: {
    body: { name: 'ci', projects: ['demo'], permissions: ['read', 'exec'], expires_in_seconds: 3600 },
    response: { ...token, token: '<shown once>' },
  },
  listTokens: { response: { tokens: [token], has_more: false, next_continuation_token: null } },
  deleteToken: {},
  signIn: {
    response: {
      session: '<shown once>',
      expires_at: '2026-11-27T08:15:30.000Z',
      token: {
        id: 'tok_01jd3mb1c2d3e4f5g6h7j8k9m1',
        name: 'ci (console)',
        projects: ['demo'],
        permissions: ['read', 'exec'],
        expires_at: '2026-11-27T08:15:30.000Z',
        on_behalf_of: { id: 'tok_01jd3mb1c2d3e4f5g6h7j8k9m0', name: 'ci', expires_at: '2026-12-20T08:15:30.000Z' },
      },
    },
  },
  signOut: {},
  createSignInLink: { response: { ticket: '<shown once>', expires_at: '2026-11-20T08:25:30.000Z' } },
  getSignInLink: {
    response: {
      expires_at: '2026-11-27T08:15:30.000Z',
      token: {
        id: token.id,
        name: 'ci',
        projects: ['demo'],
        permissions: ['read', 'exec'],
        expires_at: '2026-12-20T08:15:30.000Z',
        on_behalf_of: null,
      },
    },
  },
  createTicket: {
    body: { operation: 'writeFile', query: { path: '/srv/app.conf' } },
    response: {
      url: 'https://data.example.org/v1/projects/demo/boxes/web/files/write?path=%2Fsrv%2Fapp.conf&ticket=<shown once>',
      method: 'PUT',
      expires_at: '2026-11-20T08:16:30.000Z',
    },
  },
  createProjectTicket: {
    body: { operation: 'createBase', query: { name: 'web-ready' } },
    response: {
      url: 'https://data.example.org/v1/projects/demo/bases?name=web-ready&ticket=<shown once>',
      method: 'POST',
      expires_at: '2026-11-20T08:16:30.000Z',
    },
  },
  listProjects: {
    response: {
      projects: [{ ...quota, boxes: { running: 2, stopped: 1, other: 0 }, volumes: 1 }],
      has_more: false,
      next_continuation_token: null,
    },
  },
  getQuota: { response: quota },
  updateQuota: { body: { allowed: { boxes: 20, ram_mb: 16384, storage_gb: 200 } }, response: quota },
}
