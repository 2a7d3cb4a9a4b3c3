import { CommandError, runOk } from '../../lib/run.ts'
import { inBoxesUnit } from '../host/boxes-unit.ts'
import { mountNamespace } from '../host/host-namespace.ts'
import { askHaproxy, commandHaproxy, readInfo } from './admin.ts'
import { edgePaths } from './names.ts'
import { type EdgeProgram, PROGRAM_PATH } from './process.ts'

/** Starts and supervises Debian's HAProxy. A successor takes over the listeners without refusing a connection. */
export function haproxyProgram(runDir: string): EdgeProgram {
  const paths = edgePaths(runDir)
  return {
    filesOf: (generation) => ({ generation, config: paths.config(generation), socket: paths.admin(generation) }),
    configMode: 0o600,
    start: async ({ config }, { predecessor, timeoutMs }) => {
      const takeover = predecessor ? ['-x', predecessor.socket] : []
      const program = [...mountNamespace(paths.directory), ...FIRST, 'haproxy', '-D', '-f', config, ...takeover]
      const [command = '', ...args] = inBoxesUnit('edge', program)
      try {
        await runOk(command, args, { env: { PATH: PROGRAM_PATH }, cwd: '/', timeoutMs })
      } catch (error) {
        throw error instanceof CommandError ? new Error(causeOf(error)) : error
      }
    },
    readInfo,
    retire: async ({ socket }) => {
      for (const frontend of FRONTENDS)
        await commandHaproxy(socket, [`shutdown frontend ${frontend}`]).catch(() => undefined)
    },
    isIdle: async ({ socket }) => {
      const info = await askHaproxy(socket, 'show info').catch(() => '')
      return Number(/^CurrConns: (\d+)/m.exec(info)?.[1] ?? 0) <= 1
    },
  }
}

function causeOf({ stderr, timedOut }: CommandError): string {
  if (timedOut) return 'HAProxy did not start in time.'
  const alert = stderr
    .split('\n')
    .findLast((line) => /\[(ALERT|WARNING)\]/.test(line) && !line.includes('haproxy version'))
  const first = stderr.split('\n').find((line) => line.includes('[ALERT]')) ?? alert
  return first?.replace(/^\[ALERT\]\s*\(\d+\) : /, '') ?? 'HAProxy did not start.'
}

// HAProxy handles its traffic in microseconds, so no busy box should delay it. If the host forbids the priority, nice(1) prints that and
// continues.
const FIRST = ['nice', '-n', '-10']
/** All frontends. The second exists only behind Caddy. */
const FRONTENDS = ['edge', 'asks']
