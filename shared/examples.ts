import type { OperationId } from './routes.ts'

/** A request and an answer of an operation as the OpenAPI document shows them; a pure table. */
export interface Example {
  body?: unknown
  response?: unknown
}

const box = {
  id: 'box_01jd3m8w2k7v5x9q4n6p0r1s2t',
  name: 'web',
  project: 'demo',
  status: 'running',
  state: { reason: 'ready', message: null, since: '2026-11-20T08:15:30.160Z' },
  created_at: '2026-11-20T08:15:30.123Z',
  updated_at: '2026-11-20T08:15:30.160Z',
  base: 'debian',
  fork_of: null,
  node: 'local',
  config: { cpus: 1, ram_mb: 512, region: 'local', storage_gb: 10 },
  data_mounts: [],
  environment: { LANG: 'C.UTF-8' },
  port: null,
  published_domains: [],
  tags: { team: 'search' },
  termination_grace_period_seconds: 10,
  url: null,
  url_settings: { auth: 'token', wake: false, idle_stop_seconds: null },
}
const mounted = { ...box, data_mounts: [{ name: 'db', path: '/var/lib/db', read_only: false }] }
const stoppedBox = {
  ...box,
  status: 'stopped',
  state: { reason: 'stopped_by_request', message: null, since: '2026-11-20T09:00:00.000Z' },
}
const volume = {
  id: 'vol_01jd3m7a1b2c3d4e5f6g7h8j9k',
  name: 'db',
  project: 'demo',
  size_gb: 10,
  used_bytes: 4194304,
  created_at: '2026-11-20T08:14:00.000Z',
  updated_at: '2026-11-20T08:15:30.140Z',
  attachments: [{ box: 'web', path: '/var/lib/db', read_only: false }],
  from: null,
  tags: {},
}
const quota = {
  project: 'demo',
  allowed: { boxes: 20, cpus: null, ram_mb: 16384, storage_gb: 200 },
  used: { boxes: 3, cpus: 3, ram_mb: 1536, storage_gb: 40 },
  updated_at: '2026-11-20T08:00:00.000Z',
}
const exec = {
  id: 'exe_01jd3m9c5w8y2z4a6b7d9e0f1g',
  box: 'web',
  project: 'demo',
  command: ['/bin/sh', '-c', 'echo hello'],
  status: 'exited',
  exit_code: 0,
  signal: null,
  started_at: '2026-11-20T08:16:00.000Z',
  ended_at: '2026-11-20T08:16:00.012Z',
  tty: false,
  user: 'root',
  cwd: '/root',
  detached: false,
  process: 7,
}
const execWithOutput = {
  ...exec,
  stdout: 'hello\n',
  stderr: '',
  encoding: 'utf-8',
  truncated: false,
  next_offset: { stdout: 6, stderr: 0 },
}
const token = {
  id: 'tok_01jd3mb1c2d3e4f5g6h7j8k9m0',
  name: 'ci',
  projects: ['demo'],
  permissions: ['read', 'exec'],
  expires_at: '2026-11-20T09:15:30.000Z',
  created_at: '2026-11-20T08:15:30.000Z',
  created_by: 'tok_01jd3m0000000000000000000a',
  revoked_at: null,
}
const storage = {
  path: '/var/lib/boxyard',
  total_bytes: 107374182400,
  used_bytes: 21474836480,
  available_bytes: 85899345920,
  used_percent: 20,
}

/** One example for every operation. */
export const EXAMPLES: Record<OperationId, Example> = {
  getHealth: {
    response: {
      status: 'ok',
      api: { api_version: 'v1' },
      errors: [],
      boxes: { pending: 0, running: 3, stopped: 1, unknown: 0, total: 4 },
      host: {
        cpu: { cores: 2, load_avg_1: 0.31, load_avg_5: 0.24, load_avg_15: 0.2 },
        memory: {
          total_bytes: 25276489728,
          used_bytes: 1276489728,
          available_bytes: 24000000000,
          used_percent: 5.05,
        },
        storage,
        storage_mounts: [storage],
      },
      kubernetes: { nodes: [], total_pods_capacity: 0, total_pods_running: 0 },
      namespace: '',
    },
  },
  getVersion: {
    response: { version: '0.1.0', api_version: 'v1', commit: null, runtime: 'crun', filesystem: 'btrfs' },
  },
  getOpenApi: { response: { openapi: '3.1.1', info: { title: 'Boxyard', version: 'v1' } } },
  getConfig: {
    response: {
      drivers: { runtime: 'crun', filesystem: 'btrfs', store: 'sqlite' },
      region: 'local',
      bases: ['busybox', 'debian'],
      defaults: {
        base: 'debian',
        config: { cpus: 1, ram_mb: 512, region: 'local', storage_gb: 10 },
        termination_grace_period_seconds: 10,
        volume_size_gb: 10,
      },
      features: ['boxes', 'exec', 'data'],
      limits: { max_results: 1000, wait_seconds: 25 },
    },
  },
  getMe: {
    response: {
      id: token.id,
      name: 'ci',
      projects: ['demo'],
      permissions: ['read', 'exec'],
      expires_at: token.expires_at,
    },
  },
  createToken: {
    body: { name: 'ci', projects: ['demo'], permissions: ['read', 'exec'], expires_in_seconds: 3600 },
    response: { ...token, token: '<shown once>' },
  },
  listTokens: { response: { tokens: [token], has_more: false, next_continuation_token: null } },
  deleteToken: {},
  getOperation: {
    response: {
      id: 'opr_01jd3mc1d2e3f4g5h6j7k8m9n0',
      kind: 'box.stop',
      status: 'running',
      progress: null,
      resource: '/v1/projects/demo/boxes/web',
      error: null,
      created_at: '2026-11-20T08:59:50.000Z',
      ended_at: null,
    },
  },
  createBox: {
    body: {
      name: 'web',
      base: 'debian',
      config: { cpus: 1 },
      environment: { LANG: 'C.UTF-8' },
      tags: { team: 'search' },
    },
    response: box,
  },
  listBoxes: { response: { boxes: [box], has_more: false, next_continuation_token: null } },
  getBox: { response: box },
  deleteBox: {},
  stopBox: { response: stoppedBox },
  resumeBox: { response: box },
  updateBox: { body: { config: { cpus: 2, ram_mb: 1024 }, port: 8080 }, response: box },
  createExec: { body: { shell: 'echo hello' }, response: execWithOutput },
  listExecs: { response: { execs: [exec], has_more: false, next_continuation_token: null } },
  getExec: { response: execWithOutput },
  getExecOutput: {
    response: {
      stream: 'stdout',
      offset: 0,
      next_offset: 6,
      data: 'hello\n',
      encoding: 'utf-8',
      truncated: false,
      end: true,
      status: 'exited',
    },
  },
  signalExec: {
    body: { signal: 'SIGTERM' },
    response: { ...exec, status: 'running', exit_code: null, ended_at: null },
  },
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
  getQuota: { response: quota },
  updateQuota: { body: { allowed: { boxes: 20, ram_mb: 16384, storage_gb: 200 } }, response: quota },
}
