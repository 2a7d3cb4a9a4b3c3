import type { ChildProcess } from 'node:child_process'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { ServiceError } from '../../../shared/errors.ts'
import { createLimiter } from '../../../shared/locks.ts'
import type { Logger } from '../../../shared/log.ts'
import { tryReadText } from '../../lib/disk/file-text.ts'
import { spawnChild } from '../../lib/run.ts'
import { isErrno } from '../../lib/syscalls/libc.ts'
import { inNetworkNamespace, openRouteSocket, type RouteSocket } from '../../lib/syscalls/netlink.ts'
import {
  addAddress,
  addDefaultRoute,
  addHostRoute,
  addNeighbour,
  createVeth,
  deleteLink,
  setLinkUp,
} from '../../lib/syscalls/rtnetlink.ts'
import { GATEWAY, isMappedTo, type SlotPlan } from './slots.ts'

/** A slot whose namespaces exist. This process holds them open. */
export interface PreparedSlot extends SlotPlan {
  userNamespace: string
  networkNamespace: string
}

/**
 * Creates and destroys slots. Keeps their namespaces alive by descriptors, not by mounts. Starting a box copies the agent's mounts, so
 * their number must not grow with the boxes.
 */
export interface SlotFactory {
  /** Creates a batch of slots, which is cheaper than one by one. Logs those that fail and leaves them out of the result. */
  create(plans: readonly SlotPlan[]): Promise<PreparedSlot[]>
  /** Adopts the slot of a running box. Opens the namespaces of process `pid`, which must have the ids of the plan. */
  adopt(plan: SlotPlan, pid: number): Promise<PreparedSlot>
  /** Closes a slot's namespaces. The kernel then removes them and their interfaces asynchronously. */
  destroy(plan: SlotPlan): void
  /** Closes the namespaces of all slots. */
  destroyAll(): void
  /** Removes interfaces that the kernel will not remove automatically, about 30 ms each. Succeeds if one is absent. */
  disconnect(plans: readonly SlotPlan[]): Promise<void>
  close(): void
}

export interface SlotFactoryOptions {
  /** MTU of the outbound route in bytes. */
  mtu: number
  logger: Logger
}

/** Creates a slot factory. */
export function createSlotFactory(options: SlotFactoryOptions): SlotFactory {
  const host = openRouteSocket()
  // A route socket handles one request at a time.
  const { run: inTurn } = createLimiter(1)
  const parts: Parts = { ...options, host, opened: new Map() }
  const destroyAll = (): void => {
    for (const index of [...parts.opened.keys()]) closeNamespaces(parts, { index })
  }
  return {
    create: (plans) => inTurn(() => createSlots(parts, plans)),
    adopt: (plan, pid) => inTurn(() => adoptSlot(parts, plan, pid)),
    destroy: (plan) => closeNamespaces(parts, plan),
    destroyAll,
    disconnect: (plans) => inTurn(() => deleteLinks(parts, plans)),
    close: () => {
      destroyAll()
      host.close()
    },
  }
}

interface Parts extends SlotFactoryOptions {
  host: RouteSocket
  /** Open namespaces by slot index. */
  opened: Map<number, OpenNamespaces>
}

/** Open descriptors of a slot's namespaces. */
interface OpenNamespaces {
  user: number
  net?: number
}

async function createSlots(parts: Parts, plans: readonly SlotPlan[]): Promise<PreparedSlot[]> {
  const children = await spawnNamespaces(plans)
  try {
    const slots: PreparedSlot[] = []
    for (const plan of plans) {
      try {
        slots.push(await prepareSlot(parts, plan, children.pids.get(plan.idBase) ?? 0))
      } catch (error) {
        parts.logger.warn('failed to create a network slot', { slot: plan.index, error })
        closeNamespaces(parts, plan)
      }
    }
    return slots
  } finally {
    children.end()
  }
}

async function prepareSlot(parts: Parts, plan: SlotPlan, pid: number): Promise<PreparedSlot> {
  for (const map of ['uid_map', 'gid_map']) writeFileSync(`/proc/${pid}/${map}`, `0 ${plan.idBase} ${plan.ids}`)
  const slot = openNamespaces(parts, plan, pid)
  await deleteLinks(parts, [plan])
  await connect(parts, slot)
  return slot
}

async function adoptSlot(parts: Parts, plan: SlotPlan, pid: number): Promise<PreparedSlot> {
  const slot = openNamespaces(parts, plan, pid)
  // Checks after opening, so that it detects a reused pid.
  if (!isMappedTo(tryReadText(`/proc/${pid}/uid_map`), plan)) {
    closeNamespaces(parts, plan)
    throw new ServiceError('internal', 'The process of the box is not in the namespaces of its slot.')
  }
  if (tryReadText(`/sys/class/net/${plan.interfaceName}/ifindex`) === '') await connect(parts, slot)
  return slot
}

async function deleteLinks({ host }: Parts, plans: readonly SlotPlan[]): Promise<void> {
  for (const plan of plans) await host.send([deleteLink(plan.interfaceName)], ['ENODEV'])
}

function openNamespaces(parts: Parts, plan: SlotPlan, pid: number): PreparedSlot {
  closeNamespaces(parts, plan)
  const opened: OpenNamespaces = { user: openSync(`/proc/${pid}/ns/user`, 'r') }
  // Registered first, so that a later failure closes it.
  parts.opened.set(plan.index, opened)
  try {
    opened.net = openSync(`/proc/${pid}/ns/net`, 'r')
  } catch (error) {
    closeNamespaces(parts, plan)
    throw error
  }
  // Other programs open them through this process.
  const home = `/proc/${process.pid}/fd`
  return { ...plan, userNamespace: `${home}/${opened.user}`, networkNamespace: `${home}/${opened.net}` }
}

function closeNamespaces({ opened }: Parts, { index }: Pick<SlotPlan, 'index'>): void {
  const { user, net } = opened.get(index) ?? {}
  opened.delete(index)
  for (const fd of [user, net]) if (fd !== undefined) closeSync(fd)
}

/** Joins host and box by a veth pair with permanent neighbour entries on both sides, so that it needs no ARP. */
async function connect({ host, mtu }: Parts, slot: PreparedSlot): Promise<void> {
  const { interfaceName: name, address, hostMac, boxMac } = slot
  const namespace = openSync(slot.networkNamespace, 'r')
  let box: RouteSocket | undefined
  try {
    box = inNetworkNamespace(namespace, () => openBoxSide(slot))
    await host.send([
      createVeth({ name, mac: hostMac, mtu, peerName: 'eth0', peerMac: boxMac, peerNamespace: namespace }),
    ])
    const [index, peer] = ['ifindex', 'iflink'].map((file) => Number(tryReadText(`/sys/class/net/${name}/${file}`)))
    if (!index || !peer) throw new Error(`interface ${name} vanished`)
    writeSetting(`ipv6/conf/${name}/disable_ipv6`, '1')
    await box.send([
      setLinkUp(1, false),
      addAddress(peer, address),
      setLinkUp(peer, false),
      addNeighbour(peer, GATEWAY, hostMac),
      addDefaultRoute(peer, GATEWAY),
    ])
    await host.send([setLinkUp(index, true), addNeighbour(index, address, boxMac), addHostRoute(index, address)])
  } finally {
    box?.close()
    closeSync(namespace)
  }
}

function openBoxSide({ idBase, ids }: PreparedSlot): RouteSocket {
  // The loopback interface keeps its ::1, which programs expect. eth0 is created later and gets no IPv6.
  writeSetting('ipv6/conf/default/disable_ipv6', '1')
  // The kernel interprets these in the writer's user namespace, the host's.
  writeSetting('ipv4/ping_group_range', `${idBase} ${idBase + ids - 1}`)
  // Users of a box may listen at any port too, since the ports are the box's own.
  writeSetting('ipv4/ip_unprivileged_port_start', '0')
  return openRouteSocket()
}

interface NamespaceChildren {
  /** Pids by the first host id of the slot. */
  pids: Map<number, number>
  end(): void
}

/** Starts a process per plan in new user and network namespaces. Each waits until `end`. */
async function spawnNamespaces(plans: readonly SlotPlan[]): Promise<NamespaceChildren> {
  const ids = plans.map(({ idBase }) => String(idBase))
  const child = spawnChild('sh', ['-c', NAMESPACES_SCRIPT, 'sh', ...ids])
  try {
    return { pids: await readPids(child, plans.length), end: () => child.stdin?.end() }
  } catch (cause) {
    child.stdin?.end()
    const detail = 'Cannot create namespaces. Allow more of them in /proc/sys/user, and run as root.'
    throw new ServiceError('runtime_unavailable', detail, { cause })
  }
}

function readPids(child: ChildProcess, count: number): Promise<Map<number, number>> {
  const { stdin, stdout, stderr } = child
  return new Promise((resolve, reject) => {
    const pids = new Map<number, number>()
    const timer = setTimeout(() => reject(new Error('namespaces took too long')), SPAWN_TIMEOUT_MS)
    const fail = (error: Error): void => {
      clearTimeout(timer)
      reject(error)
    }
    stdin?.on('error', () => undefined)
    child.once('error', fail)
    child.once('exit', () => fail(new Error('the shell that makes namespaces ended')))
    stderr?.on('data', (text: Buffer) => fail(new Error(text.toString().trim().slice(0, 500))))
    if (!stdout) return fail(new Error('no pipe'))
    createInterface({ input: stdout }).on('line', (line) => {
      const [idBase = 0, pid = 0] = line.split(' ').map(Number)
      pids.set(idBase, pid)
      if (pids.size < count) return
      clearTimeout(timer)
      resolve(pids)
    })
  })
}

function writeSetting(name: string, value: string): void {
  try {
    writeFileSync(`/proc/sys/net/${name}`, value)
  } catch (error) {
    // A kernel without IPv6 does not have the setting.
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

// The kernel also charges per-user limits (inotify instances, queued signals, locked memory) to the owner of a box's user namespace. Each
// namespace has its own owner, so that boxes and the host's root do not use up each other's limits. The capability is for hosts that forbid
// unprivileged users to create namespaces. Each process prints its pid once its namespaces exist. Then it waits until its stdin ends, which
// its parent's death also causes.
const NAMESPACES_SCRIPT = `
for id do
  setpriv --reuid="$id" --regid="$id" --clear-groups --inh-caps=+sys_admin --ambient-caps=+sys_admin \
    unshare --user --net sh -c 'echo "$0 $$"; read -r _' "$id" <&3 &
done 3<&0
wait`
const SPAWN_TIMEOUT_MS = 30_000
