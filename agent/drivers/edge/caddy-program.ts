import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { runOk } from '../../lib/run.ts'
import { inBoxesUnit } from '../host/boxes-unit.ts'
import { mountNamespace } from '../host/host-namespace.ts'
import { parseInfo } from './admin.ts'
import { frontPaths } from './names.ts'
import { awaitPort } from './port.ts'
import { type EdgeFiles, type EdgeProgram, isStarting, killProcess, PROGRAM_PATH } from './process.ts'

export interface CaddyOptions {
  runDir: string
  /** Caddy's directory of accounts, certificates and log. */
  storage: string
  host: string
  /** The ports it listens on, known once it runs. */
  ports(): readonly number[]
}

/** Starts and supervises Debian's Caddy, as its own user, which can read only its storage and configuration. */
export function caddyProgram({ runDir, storage, host, ports }: CaddyOptions): EdgeProgram {
  const paths = frontPaths(runDir)
  return {
    filesOf: (generation) => ({ generation, config: paths.config(generation), socket: paths.answers(generation) }),
    // The directory's setgid bit gives the file to Caddy's group.
    configMode: 0o640,
    start: async (files, { predecessor, timeoutMs }) => {
      // Caddy binds with SO_REUSEPORT, and would share a port with another program of its user.
      if (predecessor === null) for (const port of ports()) await awaitPort(host, port)
      const { config, generation } = files
      const script = ['sh', '-c', LAUNCH, 'caddy', storage, config, paths.log(generation)]
      const launch = [...mountNamespace(paths.directory), 'setsid', '--fork', ...script]
      const [command = '', ...args] = inBoxesUnit('edge', launch)
      await runOk(command, args, { env: { PATH: PROGRAM_PATH }, cwd: '/', timeoutMs: LAUNCH_MS })
      await untilAnswering(files, paths.log(generation), timeoutMs)
    },
    readInfo,
    retire: async ({ pid }) => killProcess(pid, 'SIGTERM'),
    // A retired Caddy exits automatically.
    isIdle: async () => false,
  }
}

async function untilAnswering(files: EdgeFiles, log: string, timeoutMs: number): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (performance.now() < deadline) {
    const isAlive = await isStarting(files)
    const info = await readInfo(files.socket).catch(() => null)
    if (info !== null) return
    if (!isAlive) throw new Error(causeIn(log))
    await pause(POLL_MS)
  }
  throw new Error('Caddy did not start in time.')
}

function readInfo(socketPath: string): Promise<{ pid: number; mark: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, path: '/', agent: false, timeout: ANSWER_TIMEOUT_MS }, (answer) => {
      let text = ''
      answer.setEncoding('utf8').on('data', (piece: string) => (text += piece))
      answer.once('end', () => resolve(parseInfo(text)))
      answer.once('error', reject)
    })
    outgoing.once('timeout', () => outgoing.destroy(new Error('Caddy does not answer')))
    outgoing.once('error', reject)
    outgoing.end()
  })
}

function causeIn(log: string): string {
  const lines = tryReadText(log).trim().split('\n')
  return `Caddy did not start: ${lines.findLast((line) => !line.startsWith('{')) ?? lines.at(-1) ?? ''}`.slice(0, 500)
}

// $1 is the storage, $2 the configuration, $3 the log until Caddy has read the configuration. Only root can reach the storage by its path,
// so Caddy starts in it. The descriptor limit, two per client, admits as many clients as HAProxy does.
const LAUNCH = `
exec </dev/null >"$3" 2>&1
cd "$1" || exit
[ "$(stat -c %U .)" = caddy ] || chown --recursive --no-dereference caddy:caddy . || exit
ulimit -n 16512
only=-all,+net_bind_service
exec setpriv --reuid caddy --regid caddy --clear-groups --no-new-privs --bounding-set $only --inh-caps $only \\
  --ambient-caps $only env -i "PATH=$PATH" HOME=/nonexistent PID=$$ caddy run --config "$2"`
const LAUNCH_MS = 5_000
const POLL_MS = 20
const ANSWER_TIMEOUT_MS = 3_000
