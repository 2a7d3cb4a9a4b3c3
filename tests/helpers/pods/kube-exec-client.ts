import { PassThrough, type Readable } from 'node:stream'
import { Exec, KubeConfig, type V1Status } from '@kubernetes/client-node'

/** What a stock Kubernetes client was told of a command. */
export interface KubeRun {
  stdout: string
  stderr: string
  status: V1Status
}

export interface KubeRunOptions {
  stdin?: Readable
  tty?: boolean
  /** Gets the terminal, to say its size and what is on it. */
  onTerminal?(terminal: KubeTerminal): void
}

/** What a Kubernetes client takes for the terminal it writes to. */
export class KubeTerminal extends PassThrough {
  rows = 24
  columns = 80

  resize(columns: number, rows: number): void {
    Object.assign(this, { columns, rows })
    this.emit('resize')
  }
}

/** A stock Kubernetes client, for whom pods are boxes: of its own it has nothing but where the path leads. */
export function createKubeExecClient(server: string, token: string) {
  const config = new KubeConfig()
  // Without it the client takes no plain HTTP.
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
      const [stderr, told] = [new PassThrough(), Promise.withResolvers<V1Status>()]
      const said = { stdout: '', stderr: '' }
      stdout.on('data', (piece: Buffer) => {
        said.stdout += piece.toString()
      })
      stderr.on('data', (piece: Buffer) => {
        said.stderr += piece.toString()
      })
      const streams = [stdout, tty ? null : stderr, stdin ?? null] as const
      const socket = await exec.exec(project, box, 'box', command, ...streams, tty, told.resolve)
      if (stdout instanceof KubeTerminal) onTerminal?.(stdout)
      const closed = new Promise((resolve) => socket.once('close', resolve))
      const status = await told.promise
      await closed
      return { ...said, status }
    },
  }
}

function pathOfBox(path: string): string {
  const [, project = '', box = '', query = ''] =
    /^\/api\/v1\/namespaces\/([^/]+)\/pods\/([^/]+)\/exec\?(.*)$/.exec(path) ?? []
  return `/v1/projects/${project}/boxes/${box}/exec/ws?${query}`
}
