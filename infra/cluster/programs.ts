import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { dieWithParent } from '../commands.ts'
import { BUILD_LIMIT_MS } from '../go/program.ts'
import { hostCache } from './host-cache.ts'
import { withLock } from './host-lock.ts'

/**
 * Returns the directory of a cluster's programs: Kubernetes, etcd, containerd, its shim, CNI plugins and runc. Builds them from
 * their Go modules on first use (about seven minutes on two cores) and keeps them outside the checkout.
 */
export async function buildPrograms(say: (text: string) => void): Promise<string> {
  const directory = programsDirectory()
  if (existsSync(directory)) return directory
  return await withLock('build', async () => {
    // Another process may have built them while this one waited.
    if (!existsSync(directory)) build(directory, say)
    return directory
  })
}

/** Returns why no cluster can be started here, or null if the programs are built or a recent enough Go can build them. */
export function findBuildObstacle(): string | null {
  if (existsSync(programsDirectory())) return null
  const found = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8' })
  const [, major = 0, minor = 0] = (/^go(\d+)\.(\d+)/.exec(found.stdout ?? '') ?? []).map(Number)
  if (major > 1 || (major === 1 && minor >= NEEDED_MINOR)) return null
  const what = found.error || found.status !== 0 ? 'there is no Go here' : `the Go here is ${found.stdout.trim()}`
  return `Kubernetes is built with Go 1.${NEEDED_MINOR} or newer, and ${what}`
}

/** Returns the path of a built program, or only its name, to be found on PATH, if none is built. */
export function findProgram(name: string): string {
  const built = join(programsDirectory(), name)
  return existsSync(built) ? built : name
}

/** Names the directory by a hash of all inputs of the build, so that a changed version is built anew. */
function programsDirectory(): string {
  const hash = createHash('sha256').update(JSON.stringify(BUILDS))
  for (const file of ['kubernetes/main.go', ...SOURCES])
    hash.update(`\0${file}\0`).update(readFileSync(join(import.meta.dirname, file)))
  const root = process.env['BOXYARD_CLUSTER_CACHE'] || hostCache('cluster')
  return join(root, hash.digest('hex').slice(0, 16))
}

function build(directory: string, say: (text: string) => void): void {
  const obstacle = findBuildObstacle()
  if (obstacle !== null)
    throw new Error(`${obstacle}. Install it (https://go.dev/dl), or give KUBECONFIG of a cluster.`)
  const root = dirname(directory)
  mkdirSync(root, { recursive: true })
  for (const name of readdirSync(root)) {
    if (name.endsWith(UNFINISHED)) rmSync(join(root, name), { recursive: true })
  }
  const unfinished = `${directory}${UNFINISHED}`
  mkdirSync(unfinished)
  for (const [i, { what, module, env, flags, packages }] of BUILDS.entries()) {
    say(`Building ${what} from Go modules (${i + 1} of ${BUILDS.length}; only this once, some minutes)`)
    const [program = '', ...args] = dieWithParent(['go', 'build', '-trimpath', ...flags])
    execFileSync(program, [...args, '-o', `${unfinished}/`, ...packages], {
      cwd: join(import.meta.dirname, module),
      env: { ...process.env, ...env },
      stdio: ['ignore', 'inherit', 'inherit'],
      timeout: BUILD_LIMIT_MS,
    })
  }
  for (const part of KUBERNETES_PARTS) symlinkSync('kubernetes', join(unfinished, part))
  renameSync(unfinished, directory)
}

interface Build {
  what: string
  /** Directory of the Go module. */
  module: string
  env: Record<string, string>
  flags: readonly string[]
  packages: readonly string[]
}

const NEEDED_MINOR = 26
const UNFINISHED = '.unfinished'
const KUBERNETES_PARTS = ['etcd', 'kube-apiserver', 'kube-controller-manager', 'kube-scheduler', 'kubectl', 'kubelet']
const SOURCES = ['kubernetes', 'containerd'].flatMap((module) => [`${module}/go.mod`, `${module}/go.sum`])
const KUBERNETES_VERSION = { gitVersion: 'v1.36.3', gitMajor: '1', gitMinor: '36', gitTreeState: 'clean' }

const BUILDS: readonly Build[] = [
  {
    what: 'Kubernetes and etcd',
    module: 'kubernetes',
    env: { CGO_ENABLED: '0' },
    flags: ['-ldflags', `-s -w ${setVariables('k8s.io/component-base/version', KUBERNETES_VERSION)}`],
    packages: ['.'],
  },
  {
    what: 'containerd and CNI plugins',
    module: 'containerd',
    env: { CGO_ENABLED: '0' },
    flags: ['-ldflags', '-s -w'],
    packages: [
      ...['containerd', 'containerd-shim-runc-v2', 'ctr'].map(
        (name) => `github.com/containerd/containerd/v2/cmd/${name}`,
      ),
      ...['ipam/host-local', 'main/ptp'].map((name) => `github.com/containernetworking/plugins/plugins/${name}`),
    ],
  },
  {
    what: 'runc',
    module: 'containerd',
    env: { CGO_ENABLED: '1' },
    flags: ['-tags', 'seccomp', '-ldflags', `-s -w ${setVariables('main', { version: '1.5.2' })}`],
    packages: ['github.com/opencontainers/runc'],
  },
]

function setVariables(path: string, variables: Record<string, string>): string {
  return Object.entries(variables)
    .map(([name, value]) => `-X ${path}.${name}=${value}`)
    .join(' ')
}
