import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Pool } from 'undici'

/** The docker API on this host, with a daemon, image and data of its own. */
export interface DockerPeer {
  createAndStart(name: string, image?: string): Promise<void>
  /** Runs `echo` and waits for its output and exit code. */
  exec(name: string): Promise<void>
  /** Runs a command line, which must succeed. */
  shell(name: string, line: string): Promise<void>
  /** Makes an image `repository:tag` of a running container. */
  commit(name: string, image: string): Promise<void>
  remove(name: string): Promise<void>
  removeImage(image: string): Promise<void>
  close(): Promise<void>
}

/** Starts a private docker daemon with a busybox image; null where docker is not installed. */
export async function startDockerPeer(): Promise<DockerPeer | null> {
  if (!existsSync('/usr/sbin/dockerd')) return null
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-docker-'))
  const socketPath = join(directory, 'docker.sock')
  const daemon = spawn('/usr/sbin/dockerd', daemonArguments(directory), { stdio: ['pipe', 'ignore', 'ignore'] })
  const api = new Pool('http://docker', { socketPath, connections: 8 })
  const call = async (method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<string> => {
    const answer = await api.request({
      method,
      path: `/v1.41${path}`,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const text = await answer.body.text()
    if (answer.statusCode >= 400) throw new Error(`docker ${method} ${path}: ${answer.statusCode} ${text}`)
    return text
  }
  await waitForApi(() => call('GET', '/_ping'))
  importBusybox(directory, socketPath)
  const exec = async (name: string, command: readonly string[]): Promise<void> => {
    const made = JSON.parse(
      await call('POST', `/containers/${name}/exec`, { AttachStdout: true, AttachStderr: true, Cmd: command }),
    ) as { Id: string }
    await call('POST', `/exec/${made.Id}/start`, { Detach: false, Tty: false })
    const { ExitCode } = JSON.parse(await call('GET', `/exec/${made.Id}/json`)) as { ExitCode: number }
    if (ExitCode !== 0) throw new Error(`docker exec ended with ${ExitCode}`)
  }
  return {
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
    close: async () => {
      await api.close()
      await stopDaemon(daemon)
      rmSync(directory, { recursive: true, force: true })
    },
  }
}

function daemonArguments(directory: string): string[] {
  return [
    ...['--host', `unix://${join(directory, 'docker.sock')}`],
    ...['--data-root', join(directory, 'data'), '--exec-root', join(directory, 'exec')],
    ...['--pidfile', join(directory, 'docker.pid'), '--bridge', 'none', '--iptables=false'],
    ...['--exec-opt', 'native.cgroupdriver=cgroupfs', '--cgroup-parent', '/boxyard-bench-docker'],
  ]
}

function importBusybox(directory: string, socketPath: string): void {
  const script = `
    set -e
    root="$1/root"
    mkdir -p "$root/bin" "$root/etc" "$root/tmp"
    cp /bin/busybox "$root/bin/busybox"
    for applet in sh sleep echo mkdir head cp; do ln -s busybox "$root/bin/$applet"; done
    tar -C "$root" -c . | docker --host "unix://$2" import - bench:1 >/dev/null`
  execFileSync('bash', ['-c', script, 'import', directory, socketPath], { stdio: 'pipe' })
}

async function waitForApi(ping: () => Promise<string>): Promise<void> {
  for (let attempt = 0; ; attempt++) {
    try {
      await ping()
      return
    } catch (error) {
      if (attempt > 200) throw error
      await sleep(100)
    }
  }
}

async function stopDaemon(daemon: ChildProcess): Promise<void> {
  const gone = new Promise((resolve) => daemon.once('exit', resolve))
  daemon.kill('SIGTERM')
  await Promise.race([gone, sleep(15_000)])
  if (daemon.exitCode === null) daemon.kill('SIGKILL')
}
