import { PassThrough, type Readable } from 'node:stream'
import { Exec, KubeConfig, type V1Status } from '@kubernetes/client-node'

/** The result of a command, as a stock Kubernetes client reports it. */
export interface KubeRun {
  stdout: string
  stderr: string
  status: V1Status
}

export interface KubeRunOptions {
  stdin?: Readable
  tty?: boolean
  /** Receives the terminal, which the test can resize and read. */
  onTerminal?(terminal: KubeTerminal): void
}

/** A stream that the Kubernetes client accepts as a terminal. */
export class KubeTerminal extends PassThrough {
  rows = 24
  columns = 80

  resize(columns: number, rows: number): void {
    Object.assign(this, { columns, rows })
    this.emit('resize')
  }
}

/** Creates a stock Kubernetes client that treats boxes as pods. Only the path of its requests changes. */
export function createKubeExecClient(server: string, token: string) {
  const config = new KubeConfig()
  // Otherwise, the client rejects plain HTTP.
  config.loadFromOptions({
    clusters: [{ name: 'boxyard', server, skipTLSVerify: true }],
    users: [{ name: 'user', token }],
    contexts: [{ name: 'it', cluster: 'boxyard', user: 'user' }],
    currentContext: 'it',
  })
  const { handler } = new Exec(config)
  const exec = new Exec(config, { connect: (path, ...rest) => handler.connect(pathOfBox(path), ...rest) })
  return {
    run: async (
      { project, box }: { project: string; box: string },
      command: string[],
      { stdin, tty = false, onTerminal }: KubeRunOptions = {},
    ): Promise<KubeRun> => {
      const stdout = onTerminal === undefined ? new PassThrough() : new KubeTerminal()
      const [stderr, ended] = [new PassThrough(), Promise.withResolvers<V1Status>()]
      const output = { stdout: '', stderr: '' }
      stdout.on('data', (piece: Buffer) => {
        output.stdout += piece.toString()
      })
      stderr.on('data', (piece: Buffer) => {
        output.stderr += piece.toString()
      })
      const streams = [stdout, tty ? null : stderr, stdin ?? null] as const
      const socket = await exec.exec(project, box, 'box', command, ...streams, tty, ended.resolve)
      if (stdout instanceof KubeTerminal) onTerminal?.(stdout)
      const closed = new Promise((resolve) => socket.once('close', resolve))
      const status = await ended.promise
      await closed
      return { ...output, status }
    },
  }
}

function pathOfBox(path: string): string {
  const [, project = '', box = '', query = ''] =
    /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/exec\?(.*)$/.exec(path) ?? []
  return `/v1/projects/${project}/boxes/${box}/exec/ws?${query}`
}
