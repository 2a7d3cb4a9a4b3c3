const spec = {
  command: ['/usr/local/bin/server'],
  env: {},
  cwd: null,
  user: 'app',
  port: 8080,
  protocol: 'http',
  needs: ['db'],
  restart: 'always',
  readiness: { http: '/healthz', interval_seconds: 1, timeout_seconds: 2, threshold: 3 },
  stop_signal: 'SIGTERM',
  grace_seconds: 10,
}
/** A service in the OpenAPI document. */
export const service = {
  name: 'web',
  box: 'web',
  project: 'demo',
  state: 'running',
  message: null,
  spec,
  active: {
    alive: true,
    pid: 12,
    port: 8080,
    spec,
    started_at: '2026-11-20T08:15:30.123Z',
    restarts: 0,
    health: 'healthy',
    last_exit: null,
  },
  preview: null,
  previous: null,
  active_url: 'http://web--web--demo.localhost:8081/',
  preview_url: null,
  published_domains: [],
  generation: 1,
  history: [{ at: '2026-11-20T08:15:30.100Z', action: 'created', actor: 'ci', generation: 1 }],
  tags: {},
  created_at: '2026-11-20T08:15:30.100Z',
  updated_at: '2026-11-20T08:15:30.160Z',
}
const stopped = {
  ...service,
  state: 'stopped',
  active: { ...service.active, alive: false, pid: null, health: 'unknown' },
}

const deployed = { ...service.active, pid: 31, port: 49152, spec: { ...spec, command: ['/usr/local/bin/server-2'] } }
const previewed = {
  ...service,
  preview: { ...deployed, state: 'running', message: null, isolation: 'process' },
  history: [...service.history, { at: '2026-11-20T09:00:00.000Z', action: 'deployed', actor: 'ci', generation: 1 }],
}
const promoted = {
  ...service,
  spec: deployed.spec,
  active: deployed,
  previous: service.active,
  generation: 2,
  history: [...previewed.history, { at: '2026-11-20T09:01:00.000Z', action: 'promoted', actor: 'ci', generation: 2 }],
}

/** Examples of the operations on services. */
export const SERVICE_EXAMPLES = {
  listServices: { response: { services: [service], has_more: false, next_continuation_token: null } },
  putService: {
    body: {
      command: ['/usr/local/bin/server'],
      user: 'app',
      port: 8080,
      needs: ['db'],
      readiness: { http: '/healthz' },
    },
    response: service,
  },
  getService: { response: service },
  deleteService: {},
  startService: { response: service },
  stopService: { response: stopped },
  deployService: { body: { command: ['/usr/local/bin/server-2'], ready_seconds: 30 }, response: previewed },
  promoteService: { response: promoted },
  rollbackService: { response: { ...service, previous: deployed, generation: 3 } },
  discardService: { response: service },
  getServiceLogs: {
    response: { offset: 0, next_offset: 13, data: 'listening...\n', encoding: 'utf-8', truncated: false },
  },
}
