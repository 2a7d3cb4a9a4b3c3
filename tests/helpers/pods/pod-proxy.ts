import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { dieWithParent } from '../../../infra/commands.ts'
import { untilSucceeds } from '../eventually.ts'
import { kubectlProgram } from './kubectl.ts'

/** A pod as the API server reports it. */
export interface SeenPod {
  name: string
  uid: string
  phase: string
  box: string
  isDeleted: boolean
  limits: { cpu: string; memory: string }
}

/** The pods of one service, through a proxy that kubectl runs. */
export interface PodProxy {
  /** Returns the current pods. Throws while the API server does not answer. */
  list(): SeenPod[]
  close(): void
}

/**
 * Starts the proxy, and waits until it answers. Tests that wait for pods poll four times a second. A call of the proxy costs about 0.01 s
 * of CPU time, and a call of kubectl about 0.3 s.
 */
export async function openPodProxy(place: {
  kubeconfig: string
  namespace: string
  instance: string
}): Promise<PodProxy> {
  const directory = mkdtempSync(join(tmpdir(), 'boxyard-pods-'))
  const socket = join(directory, 'proxy')
  const proxy = [kubectlProgram(), `--kubeconfig=${place.kubeconfig}`, 'proxy', `--unix-socket=${socket}`]
  const [program = '', ...args] = dieWithParent(proxy)
  const child = spawn(program, args, { stdio: 'ignore' })
  const selector = encodeURIComponent(`boxyard.dev/instance=${place.instance}`)
  const url = `http://localhost/api/v1/namespaces/${place.namespace}/pods?labelSelector=${selector}`
  const proxied: PodProxy = {
    list: () => {
      const options = ['--silent', '--show-error', '--fail', '--max-time', '240', '--unix-socket', socket, url]
      const { status, stdout, stderr } = spawnSync('curl', options, { encoding: 'utf8', maxBuffer: ANSWER_BYTES })
      if (status !== 0) throw new Error(`The pods cannot be listed: ${stderr}`)
      return JSON.parse(stdout).items.map(viewPod)
    },
    close: () => {
      child.kill('SIGKILL')
      rmSync(directory, { recursive: true, force: true })
    },
  }
  try {
    await untilSucceeds(async () => proxied.list())
    return proxied
  } catch (error) {
    proxied.close()
    throw error
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what the API server sends
function viewPod({ metadata, spec, status }: any): SeenPod {
  return {
    name: metadata.name,
    uid: metadata.uid,
    phase: status.phase,
    box: metadata.labels['boxyard.dev/box'] ?? '',
    isDeleted: metadata.deletionTimestamp !== undefined,
    limits: spec.containers[0].resources.limits,
  }
}

const ANSWER_BYTES = 16 * 1024 ** 2
