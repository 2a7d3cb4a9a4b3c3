import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import {
  createPodNetwork,
  type PodMember,
  type PodNetwork,
  type PodNetworkSettings,
} from '../../../agent/drivers/pods/network.ts'
import { runOk } from '../../../agent/lib/run.ts'
import { firstOutput, member } from '../network/lab.ts'
import { silentLogger } from '../silent-logger.ts'

/** How a CNI plugin connects pods to their node. `routed` uses a link and a route for each pod, and `bridged` one bridge for all. */
export type PodLinks = 'routed' | 'bridged'

/** The network of a pod after CNI has set it up. */
export interface Pod {
  address: string
  networkNamespace: string
}

/** Does the work of a CNI plugin on a node. */
export interface PodLab {
  /** The node's address, to which pods send all traffic. */
  gateway: string
  /** Creates a pod's network. */
  pod(): Promise<Pod>
  close(): void
}

/** Opens a lab. Its pods have addresses in a range of this process. */
export async function openPodLab(links: PodLinks): Promise<PodLab> {
  // Test files run in parallel, so each uses its own range.
  const subnet = `10.${links === 'routed' ? 219 : 220}.${process.pid % 250}`
  const gateway = `${subnet}.1`
  const children: ChildProcess[] = []
  const names: string[] = []
  const hub = `hub${process.pid % 100_000}`
  // Without ports, the bridge only holds the node's address. The kernel answers for it on every link.
  await ip(`link add ${hub} type bridge`)
  names.push(hub)
  await ip(`address add ${gateway}/${links === 'bridged' ? 24 : 32} dev ${hub}`)
  await ip(`link set ${hub} up`)
  const join = async (name: string, address: string): Promise<void> => {
    if (links === 'bridged') return ip(`link set ${name} master ${hub} up`)
    await ip(`link set ${name} up`)
    await ip(`route add ${address}/32 dev ${name} src ${gateway}`)
  }
  return {
    gateway,
    async pod() {
      const name = `pod${process.pid % 100_000}-${names.length}`
      const address = `${subnet}.${names.length + 10}`
      const child = spawn('unshare', ['--net', 'sh', '-c', 'echo ready; read -r _'], {
        stdio: ['pipe', 'pipe', 'inherit'],
      })
      await firstOutput(child)
      children.push(child)
      names.push(name)
      await ip(`link add ${name} type veth peer name eth0 netns ${child.pid}`)
      await join(name, address)
      const networkNamespace = `/proc/${child.pid}/ns/net`
      const inside = (line: string): Promise<unknown> =>
        runOk('nsenter', [`--net=${networkNamespace}`, 'ip', ...line.split(' ')])
      await inside('link set lo up')
      await inside(`address add ${address}/${links === 'bridged' ? 24 : 32} dev eth0`)
      await inside('link set eth0 up')
      if (links === 'routed') await inside(`route add ${gateway} dev eth0`)
      await inside(`route add default via ${gateway}`)
      return { address, networkNamespace }
    },
    close() {
      for (const name of names) execFileSync('ip', ['link', 'delete', name])
      for (const child of children) child.stdin?.end()
    },
  }
}

/** Returns settings of a new instance, with its directory in a new temporary directory. */
export function podSettings(changes: Partial<PodNetworkSettings> = {}): PodNetworkSettings {
  const home = mkdtempSync(`${tmpdir()}/boxyard-pods-`)
  execFileSync('chmod', ['711', home])
  const instanceId = home.slice(-6).toLowerCase() + process.pid.toString(36)
  return {
    instanceId,
    runDir: `${home}/run`,
    egress: true,
    allowPrivate: false,
    dns: [],
    logger: silentLogger,
    ...changes,
  }
}

/** Opens the network of an instance, runs `work`, and removes the network. */
export async function withPodNetwork<T>(
  settings: PodNetworkSettings,
  work: (network: PodNetwork) => Promise<T>,
): Promise<T> {
  const network = createPodNetwork(settings)
  await network.open()
  try {
    return await work(network)
  } finally {
    await network.close({ release: true })
    rmSync(settings.runDir.replace(/\/run$/, ''), { recursive: true, force: true })
  }
}

/** Returns a box of the lab in a pod. Its id contains the project and the name. */
export function podMember(project: string, name: string, pod: Pod): PodMember {
  return { ...member(project, name), ...pod }
}

async function ip(line: string): Promise<void> {
  await runOk('ip', line.split(' '))
}
