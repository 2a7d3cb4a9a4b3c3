import { spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { buildWithGo } from '../go/build.ts'
import { type DirectoryPart, makeInParts } from '../made-once/parts.ts'
import { hostCache } from './host-cache.ts'
import { withLock } from './host-lock.ts'

/**
 * Returns the directory of a cluster's programs: Kubernetes, etcd, containerd, its shim, CNI plugins and runc. Builds them from their Go
 * modules on first use (about seven minutes on two idle cores) and keeps them outside the checkout. The next call resumes an interrupted
 * build.
 */
export async function buildPrograms(say: (text: string) => void): Promise<string> {
  const directory = programsDirectory()
  if (existsSync(directory)) return directory
  const build = async (): Promise<string> => {
    // Another process may have built them while this one waited.
    if (existsSync(directory)) return directory
    const obstacle = findBuildObstacle()
    if (obstacle !== null)
      throw new Error(`${obstacle}. Install Go (https://go.dev/dl), or set KUBECONFIG to use an existing cluster.`)
    await makeInParts(
      directory,
      BUILDS.map((build, index) => partOf(build, index + 1, say)),
    )
    return directory
  }
  return await withLock('build', build, { what: "the cluster's programs", say })
}

/** Returns why no cluster can be started here, or null if the programs are built or a recent enough Go can build them. */
export function findBuildObstacle(): string | null {
  if (existsSync(programsDirectory())) return null
  const found = spawnSync('go', ['env', 'GOVERSION'], { encoding: 'utf8' })
  const [, major = 0, minor = 0] = (/^go(\d+)\.(\d+)/.exec(found.stdout ?? '') ?? []).map(Number)
  if (major > 1 || (major === 1 && minor >= NEEDED_MINOR)) return null
  const what = found.error || found.status !== 0 ? 'this machine has no Go' : `this machine has ${found.stdout.trim()}`
  return `The build of Kubernetes needs Go 1.${NEEDED_MINOR} or newer, but ${what}`
}

/** Returns the path of a built program, or if none is built only its name, to be found on PATH. */
export function findProgram(name: string): string {
  const built = join(programsDirectory(), name)
  return existsSync(built) ? built : name
}

/** Names the directory by a hash of all inputs of the build, so that a changed version is rebuilt. */
function programsDirectory(): string {
  const hash = createHash('sha256').update(JSON.stringify(BUILDS))
  for (const file of ['kubernetes/main.go', ...SOURCES])
    hash.update(`\0${file}\0`).update(readFileSync(join(import.meta.dirname, file)))
  const root = process.env['BOXYARD_CLUSTER_CACHE'] || hostCache('cluster')
  return join(root, hash.digest('hex').slice(0, 16))
}

function partOf(
  { what, module, env, flags, packages }: Build,
  number: number,
  say: (text: string) => void,
): DirectoryPart {
  return {
    name: what.replaceAll(' ', '-'),
    make: async (target) => {
      say(`Building ${what} from Go modules (${number} of ${BUILDS.length}, only once, a few minutes)`)
      await buildWithGo({ what, module: join(import.meta.dirname, module), packages, flags, env, target, say })
      if (module === 'kubernetes') linkKubernetesParts(target)
    },
  }
}

function linkKubernetesParts(target: string): void {
  for (const part of KUBERNETES_PARTS) {
    rmSync(join(target, part), { force: true })
    symlinkSync('kubernetes', join(target, part))
  }
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
