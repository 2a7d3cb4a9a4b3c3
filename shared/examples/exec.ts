const exec = {
  id: 'exe_01jd3m9c5w8y2z4a6b7d9e0f1g',
  box: 'web',
  project: 'demo',
  command: ['/bin/sh', '-c', 'echo hello'],
  status: 'exited',
  exit_code: 0,
  signal: null,
  reason: null,
  oom_kills: 0,
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

/** Examples of the operations on commands and consoles. */
export const EXEC_EXAMPLES = {
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
  streamExec: {},
  openConsole: {},
  listSessions: {
    response: {
      sessions: [
        {
          id: 'ses_01jd3md1e2f3g4h5j6k7m8n9p0',
          name: 'main',
          box: 'web',
          project: 'demo',
          command: ['/bin/bash', '-l'],
          user: 'root',
          process: 12,
          created_at: '2026-11-20T08:20:00.000Z',
          cols: 120,
          rows: 40,
          viewers: 1,
        },
      ],
      has_more: false,
      next_continuation_token: null,
    },
  },
  deleteSession: {},
}
