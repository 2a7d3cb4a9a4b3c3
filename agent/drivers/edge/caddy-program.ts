import { request } from 'node:http'
import { setTimeout as pause } from 'node:timers/promises'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { runOk } from '../../lib/run.ts'
import { parseInfo } from './admin.ts'
import { frontPaths } from './names.ts'
import { awaitPort } from './port.ts'
import { type EdgeFiles, type EdgeProgram, isStarting, killProcess, mountNamespace, PROGRAM_PATH } from './process.ts'

export interface CaddyOptions {
  runDir: string
  /** Its own directory, where it keeps accounts, certificates and its log. */
  storage: string
  host: string
  /** Those it listens on; known by the time it is started. */
  ports(): readonly number[]
}

/** Debian's Caddy. It runs as a user of its own, which sees its storage and its files alone. */
export function caddyProgram({ runDir, storage, host, ports }: CaddyOptions): EdgeProgram {
  const paths = frontPaths(runDir)
  return {
    filesOf: (generation) => ({ generation, config: paths.config(generation), socket: paths.answers(generation) }),
    // Of the group of its directory, which is Caddy's.
    configMode: 0o640,
    start: async (files, predecessor) => {
      // It would share a port with another program of its user.
      if (predecessor === null) for (const port of ports()) await awaitPort(host, port)
      const { config, generation } = files
      const script = ['sh', '-c', LAUNCH, 'caddy', storage, config, paths.log(generation)]
      const [command = '', ...args] = [...mountNamespace(paths.directory), 'setsid', '--fork', ...script]
      await runOk(command, args, { env: { PATH: PROGRAM_PATH }, cwd: '/', timeoutMs: LAUNCH_MS })
      await untilAnswering(files, paths.log(generation))
    },
    readInfo,
    retire: async ({ pid }) => killProcess(pid, 'SIGTERM'),
    // It ends by itself.
    isIdle: async () => false,
  }
}

async function untilAnswering(files: EdgeFiles, log: string): Promise<void> {
  const deadline = performance.now() + START_MS
  while (performance.now() < deadline) {
    const isAlive = await isStarting(files)
    const info = await readInfo(files.socket).catch(() => null)
    if (info !== null) return
    if (!isAlive) throw new Error(causeIn(log))
    await pause(LOOK_MS)
  }
  throw new Error('Caddy did not start in time.')
}

function readInfo(socketPath: string): Promise<{ pid: number; mark: string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request({ socketPath, path: '/', agent: false, timeout: PATIENCE_MS }, (answer) => {
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

// $1 its storage, $2 its configuration, $3 what it says before it has read that. Only root comes to the storage by its path, so
// that Caddy begins there. Two descriptors a client, so that no more come than HAProxy takes.
const LAUNCH = `
exec </dev/null >"$3" 2>&1
cd "$1" || exit
[ "$(stat -c %U .)" = caddy ] || chown --recursive --no-dereference caddy:caddy . || exit
ulimit -n 16512
only=-all,+net_bind_service
exec setpriv --reuid caddy --regid caddy --clear-groups --no-new-privs --bounding-set $only --inh-caps $only \\
  --ambient-caps $only env -i "PATH=$PATH" HOME=/nonexistent PID=$$ caddy run --config "$2"`
const LAUNCH_MS = 5_000
const START_MS = 10_000
const LOOK_MS = 20
const PATIENCE_MS = 3_000
