import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { promisify } from 'node:util'
import { Pool } from 'undici'

/** Docker's API on this host, with its own daemon, image and data. */
export interface DockerPeer {
  /** Address of the daemon, for the docker CLI's `DOCKER_HOST`. */
  host: string
  createAndStart(name: string, image?: string): Promise<void>
  /** Runs `echo` and waits for its output and exit code. */
  exec(name: string): Promise<void>
  /** Runs a command line. Throws if it fails. */
  shell(name: string, line: string): Promise<void>
  /** Commits a running container as image `repository:tag`. */
  commit(name: string, image: string): Promise<void>
  remove(name: string): Promise<void>
  removeImage(image: string): Promise<void>
  close(): Promise<void>
}

/**
 * Starts a docker daemon (infra/setup.sh bench) with a busybox image and all its files in a temporary directory. It ignores the
 * configuration of any other daemon on this machine.
 */
export async function startDockerPeer(): Promise<DockerPeer> {
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-docker-'))
  const socketPath = join(directory, 'docker.sock')
  const daemon = startDaemon(directory)
  const api = new Pool('http://docker', { socketPath, connections: 8 })
  const send = async (method: 'GET' | 'POST' | 'DELETE', path: string, what: Content = {}): Promise<string> => {
    const answer = await api.request({ method, path, ...what })
    const text = await answer.body.text()
    if (answer.statusCode >= 400) throw new Error(`docker ${method} ${path}: ${answer.statusCode} ${text}`)
    return text
  }
  const call = (method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<string> =>
    send(method, path, body === undefined ? {} : { body: JSON.stringify(body), headers: JSON_TYPE })
  const close = async (): Promise<void> => {
    await api.close()
    await daemon.stop()
    removeCgroups()
    rmSync(directory, { recursive: true, force: true })
  }
  try {
    await waitForApi(() => call('GET', '/_ping'), daemon.fault)
    const path = '/images/create?fromSrc=-&repo=bench&tag=1'
    await send('POST', path, { body: await busyboxRoot(directory), headers: { 'content-type': 'application/x-tar' } })
  } catch (error) {
    await close()
    throw error
  }
  const exec = async (name: string, command: readonly string[]): Promise<void> => {
    const made = JSON.parse(
      await call('POST', `/containers/${name}/exec`, { AttachStdout: true, AttachStderr: true, Cmd: command }),
    ) as { Id: string }
    await call('POST', `/exec/${made.Id}/start`, { Detach: false, Tty: false })
    const { ExitCode } = JSON.parse(await call('GET', `/exec/${made.Id}/json`)) as { ExitCode: number }
    if (ExitCode !== 0) throw new Error(`docker exec ended with ${ExitCode}`)
  }
  return {
    host: `unix://${socketPath}`,
    createAndStart: async (name, image = 'bench:1') => {
      const body = { Image: image, Cmd: ['sleep', '1000000'], HostConfig: { NetworkMode: 'none' } }
      await call('POST', `/containers/create?name=${name}`, body)
      await call('POST', `/containers/${name}/start`)
    },
    exec: (name) => exec(name, ['echo', 'hi']),
    shell: (name, line) => exec(name, ['sh', '-c', line]),
    commit: async (name, image) => {
      const [repository, tag] = image.split(':')
      await call('POST', `/commit?container=${name}&repo=${repository}&tag=${tag}`)
    },
    remove: async (name) => void (await call('DELETE', `/containers/${name}?force=true`)),
    removeImage: async (image) => void (await call('DELETE', `/images/${image}?force=true`)),
    close,
  }
}

interface Content {
  body?: string | Buffer
  headers?: Record<string, string>
}

interface Daemon {
  /** Resolves when the daemon exits, with the reason and its last output. */
  fault: Promise<Error>
  stop(): Promise<void>
}

function startDaemon(directory: string): Daemon {
  const child = spawn('dockerd', daemonArguments(directory), { stdio: ['ignore', 'ignore', 'pipe'] })
  let lastOutput = ''
  child.stderr.on('data', (piece: Buffer) => {
    lastOutput = `${lastOutput}${piece.toString()}`.slice(-OUTPUT_CHARACTERS)
  })
  const fault = new Promise<Error>((resolve) => {
    child.once('error', resolve)
    child.once('exit', (code, signal) => resolve(new Error(`dockerd ended with ${code ?? signal}.\n${lastOutput}`)))
  })
  return { fault, stop: () => stopDaemon(child, fault) }
}

function daemonArguments(directory: string): string[] {
  const config = join(directory, 'daemon.json')
  writeFileSync(config, '{}')
  return [
    ...['--config-file', config, '--host', `unix://${join(directory, 'docker.sock')}`],
    ...['--data-root', join(directory, 'data'), '--exec-root', join(directory, 'exec')],
    ...['--pidfile', join(directory, 'docker.pid'), '--bridge', 'none', '--iptables=false'],
    ...['--exec-opt', 'native.cgroupdriver=cgroupfs', '--cgroup-parent', `/${CGROUP}`],
  ]
}

async function busyboxRoot(directory: string): Promise<Buffer> {
  const script = `
    set -e
    root="$1/root"
    mkdir -p "$root/bin" "$root/etc" "$root/tmp"
    cp /bin/busybox "$root/bin/busybox"
    for applet in sh sleep echo mkdir head cp true; do ln -s busybox "$root/bin/$applet"; done
    tar -C "$root" -c .`
  const options = { encoding: 'buffer', maxBuffer: 64 * 1024 ** 2 } as const
  return (await promisify(execFile)('sh', ['-c', script, 'root', directory], options)).stdout
}

async function waitForApi(ping: () => Promise<unknown>, fault: Promise<Error>): Promise<void> {
  let ended: Error | null = null
  void fault.then((error) => {
    ended = error
  })
  for (let attempt = 0; ; attempt++) {
    try {
      await ping()
      return
    } catch (error) {
      if (ended !== null || attempt > 200) throw ended ?? error
      await sleep(100)
    }
  }
}

async function stopDaemon(child: ChildProcess, ended: Promise<unknown>): Promise<void> {
  child.kill('SIGTERM')
  const late = new AbortController()
  await Promise.race([ended, sleep(15_000, undefined, { signal: late.signal }).catch(() => undefined)])
  late.abort()
  if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL')
  await ended
}

/** Removes the cgroups that the daemon leaves, in all hierarchies. */
function removeCgroups(): void {
  const root = '/sys/fs/cgroup'
  const parents = [root, ...readdirSync(root).map((name) => join(root, name))].map((path) => join(path, CGROUP))
  for (const path of parents) if (existsSync(path)) rmdirSync(path)
}

const JSON_TYPE = { 'content-type': 'application/json' }
const CGROUP = 'boxyard-bench-docker'
const OUTPUT_CHARACTERS = 4_000
