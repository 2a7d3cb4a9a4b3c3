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
import { GATEWAY, IDS_PER_SLOT, isMappedTo, type SlotPlan } from './slots.ts'

/** A slot whose namespaces exist and are held open by this process. */
export interface PreparedSlot extends SlotPlan {
  userNamespace: string
  networkNamespace: string
}

/**
 * Makes slots and takes them away. It holds them by descriptors, not by mounts: the start of a box copies the mounts of its
 * agent, so their number must not grow with the boxes.
 */
export interface SlotFactory {
  /** Makes the slots together, which costs less than one by one; those that fail are logged and missing from the answer. */
  create(plans: readonly SlotPlan[]): Promise<PreparedSlot[]>
  /** Takes the slot of a running box up: the namespaces of process `pid`, which must be those of the plan. */
  adopt(plan: SlotPlan, pid: number): Promise<PreparedSlot>
  /** Lets go of a slot's namespaces: the kernel takes them and their interfaces away soon after. */
  destroy(plan: SlotPlan): void
  /** Lets go of all of them. */
  destroyAll(): void
  /** Removes interfaces that nothing in the kernel's hands will remove, about 30 ms each; an absent one is a success. */
  disconnect(plans: readonly SlotPlan[]): Promise<void>
  close(): void
}

export interface SlotFactoryOptions {
  /** Bytes of a packet that the way out takes. */
  mtu: number
  logger: Logger
}

/** A factory of slots. */
export function createSlotFactory(options: SlotFactoryOptions): SlotFactory {
  const host = openRouteSocket()
  // A routing socket answers one request at a time.
  const { run: inTurn } = createLimiter(1)
  const parts: Parts = { ...options, host, held: new Map() }
  const destroyAll = (): void => {
    for (const index of [...parts.held.keys()]) releaseNamespaces(parts, { index })
  }
  return {
    create: (plans) => inTurn(() => createSlots(parts, plans)),
    adopt: (plan, pid) => inTurn(() => adoptSlot(parts, plan, pid)),
    destroy: (plan) => releaseNamespaces(parts, plan),
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
  /** By slot index. */
  held: Map<number, HeldNamespaces>
}

/** Open descriptors of a slot's namespaces. */
interface HeldNamespaces {
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
        parts.logger.warn('network slot could not be made', { slot: plan.index, error })
        releaseNamespaces(parts, plan)
      }
    }
    return slots
  } finally {
    children.end()
  }
}

async function prepareSlot(parts: Parts, plan: SlotPlan, pid: number): Promise<PreparedSlot> {
  for (const map of ['uid_map', 'gid_map']) writeFileSync(`/proc/${pid}/${map}`, `0 ${plan.idBase} ${IDS_PER_SLOT}`)
  const slot = holdNamespaces(parts, plan, pid)
  await deleteLinks(parts, [plan])
  await connect(parts, slot)
  return slot
}

async function adoptSlot(parts: Parts, plan: SlotPlan, pid: number): Promise<PreparedSlot> {
  const slot = holdNamespaces(parts, plan, pid)
  // Looked at afterwards, so that a process number given to another program meanwhile is found out.
  if (!isMappedTo(tryReadText(`/proc/${pid}/uid_map`), plan.idBase)) {
    releaseNamespaces(parts, plan)
    throw new ServiceError('internal', 'The process of the box is not in the namespaces of its slot.')
  }
  if (tryReadText(`/sys/class/net/${plan.interfaceName}/ifindex`) === '') await connect(parts, slot)
  return slot
}

async function deleteLinks({ host }: Parts, plans: readonly SlotPlan[]): Promise<void> {
  for (const plan of plans) await host.send([deleteLink(plan.interfaceName)], ['ENODEV'])
}

function holdNamespaces(parts: Parts, plan: SlotPlan, pid: number): PreparedSlot {
  releaseNamespaces(parts, plan)
  const held: HeldNamespaces = { user: openSync(`/proc/${pid}/ns/user`, 'r') }
  // Known at once, so that a failure after this lets go of it.
  parts.held.set(plan.index, held)
  try {
    held.net = openSync(`/proc/${pid}/ns/net`, 'r')
  } catch (error) {
    releaseNamespaces(parts, plan)
    throw error
  }
  // Other programs open them through this process.
  const home = `/proc/${process.pid}/fd`
  return { ...plan, userNamespace: `${home}/${held.user}`, networkNamespace: `${home}/${held.net}` }
}

function releaseNamespaces({ held }: Parts, { index }: Pick<SlotPlan, 'index'>): void {
  const { user, net } = held.get(index) ?? {}
  held.delete(index)
  for (const fd of [user, net]) if (fd !== undefined) closeSync(fd)
}

/** Joins host and box by a pair of interfaces that need no address resolution: both sides know the other for good. */
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

function openBoxSide({ idBase }: PreparedSlot): RouteSocket {
  // The loopback interface keeps its ::1, which programs expect; eth0 is made later and gets no IPv6.
  writeSetting('ipv6/conf/default/disable_ipv6', '1')
  // Read in the ids of this process's user namespace, the host's.
  writeSetting('ipv4/ping_group_range', `${idBase} ${idBase + IDS_PER_SLOT - 1}`)
  return openRouteSocket()
}

interface NamespaceChildren {
  /** Process numbers by the first host id of the slot. */
  pids: Map<number, number>
  end(): void
}

/** Starts a process for each plan, in a user and a network namespace of its own, which waits until `end`. */
async function spawnNamespaces(plans: readonly SlotPlan[]): Promise<NamespaceChildren> {
  const ids = plans.map(({ idBase }) => String(idBase))
  const child = spawnChild('sh', ['-c', NAMESPACES_SCRIPT, 'sh', ...ids])
  try {
    return { pids: await readPids(child, plans.length), end: () => child.stdin?.end() }
  } catch (cause) {
    child.stdin?.end()
    const detail = 'Cannot make namespaces: allow more of them in /proc/sys/user, and run as root.'
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
    // A kernel without IPv6 has no such setting, and needs none.
    if (!isErrno(error, 'ENOENT')) throw error
  }
}

// The kernel counts what a box has of it (inotify instances, queued signals, locked memory) for the owner of its user
// namespace too: each has an owner of its own, lest boxes and the host's root use up each other's share. The capability
// is for hosts that forbid unprivileged users to make namespaces.
// Each process tells its number once its namespaces exist, then waits: for the end, or for its parent's death.
const NAMESPACES_SCRIPT = `
for id do
  setpriv --reuid="$id" --regid="$id" --clear-groups --inh-caps=+sys_admin --ambient-caps=+sys_admin \
    unshare --user --net sh -c 'echo "$0 $$"; read -r _' "$id" <&3 &
done 3<&0
wait`
const SPAWN_TIMEOUT_MS = 30_000
