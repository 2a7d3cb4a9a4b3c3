import { ServiceError } from '../../../shared/errors.ts'
import { refusal } from '../../../shared/refusals.ts'
import type { PortConnection } from '../../ports/boxes/port-connection.ts'
import type { Runtime } from '../../ports/boxes/runtime.ts'
import type { Clock } from '../../ports/host/clock.ts'
import type { Meter } from '../../ports/host/meter.ts'
import type { BoxRecord } from '../../ports/store/boxes.ts'
import type { BoxActivity } from '../boxes/activity.ts'
import type { Boxes } from '../boxes/boxes.ts'
import { checkRunning } from '../exec/execs.ts'
import { nextStep, WAKE_TIMEOUT_MS } from './wake.ts'

/** Opens connections to ports of boxes. */
export interface BoxPortOpener {
  /**
   * Connects to a TCP port of a box, which is in use until the connection has closed. Starts a stopped box with `url_settings.wake`, as a
   * request for its URL does. Waits until the box runs and its port takes connections, for at most 25 s. All calls for a port share one
   * wait.
   * @throws ServiceError `box_not_running`, `port_not_listening`, `port_unreachable`, `box_not_found` if the box is
   * deleted during the wait, `box_busy` while it is being restored, `runtime_unavailable`, `agent_timeout`
   */
  open(box: BoxRecord, port: number): Promise<PortConnection>
}

export interface BoxPortOpenerDeps {
  boxes: Pick<Boxes, 'get' | 'resume'>
  runtime: Pick<Runtime, 'connect'>
  activity: Pick<BoxActivity, 'begin'>
  clock: Clock
  meter: Meter
}

/** Creates the opener, and counts what it opens. */
export function createBoxPortOpener(deps: BoxPortOpenerDeps): BoxPortOpener {
  const count = deps.meter.counter(OPENED)
  const waits: PortWaits = new Map()
  return {
    open: async (box, port) => {
      const endUse = deps.activity.begin(box.id)
      try {
        const connection = await reach(deps, waits, { box, port })
        connection.stream.once('close', endUse)
        if (connection.stream.closed) endUse()
        count({})
        return connection
      } catch (error) {
        endUse()
        throw error
      }
    },
  }
}

interface PortTarget {
  box: BoxRecord
  port: number
}

/** The ports that are waited for: by project, then by box and port. */
type PortWaits = Map<string, Map<string, Promise<Reached>>>

/** The connection that ended a wait, for the first who takes it. The others make their own. */
interface Reached {
  connection: PortConnection | null
}

/** Connects at once if the box runs and no call waits for the port yet. Otherwise joins the shared wait. */
async function reach(deps: BoxPortOpenerDeps, waits: PortWaits, target: PortTarget): Promise<PortConnection> {
  const { box, port } = target
  const isWaitedFor = waits.get(box.project)?.has(keyOf(target)) ?? false
  if (!isWaitedFor && isRunning(await lookUp(deps, box))) return deps.runtime.connect(box.id, port)
  const reached = await sharedWait(deps, waits, target)
  const { connection } = reached
  reached.connection = null
  return connection ?? deps.runtime.connect(box.id, port)
}

function sharedWait(deps: BoxPortOpenerDeps, waits: PortWaits, target: PortTarget): Promise<Reached> {
  const { project } = target.box
  const key = keyOf(target)
  const ofProject = waits.get(project) ?? new Map<string, Promise<Reached>>()
  const underWay = ofProject.get(key)
  if (underWay !== undefined) return underWay
  waits.set(project, ofProject)
  const wait = untilReached(deps, target, () => ofProject.size).finally(() => {
    ofProject.delete(key)
    if (ofProject.size === 0) waits.delete(project)
  })
  ofProject.set(key, wait)
  return wait
}

/** Starts the box if need be, and looks again and again, less often with each time and with each of the project's `waits`. */
async function untilReached(
  deps: BoxPortOpenerDeps,
  { box: wanted, port }: PortTarget,
  waits: () => number,
): Promise<Reached> {
  const { boxes, runtime, clock } = deps
  const { id, project, name } = wanted
  const endsAt = clock.now() + WAKE_TIMEOUT_MS
  let pauseMs = FIRST_PAUSE_MS
  const pause = async (leftMs: number): Promise<void> => {
    await clock.sleep(Math.min(Math.max(pauseMs, waits() * SPACING_MS), leftMs))
    pauseMs = Math.min(2 * pauseMs, LAST_PAUSE_MS)
  }
  let wasResumed = false
  for (;;) {
    const box = await lookUp(deps, wanted)
    const leftMs = endsAt - clock.now()
    if (isRunning(box)) {
      const connection = await runtime.connect(id, port).catch((error: unknown) => {
        // Its programs need a moment after its start.
        if (leftMs <= 0 || !isClosedPort(error)) throw error
        return null
      })
      if (connection !== null) return { connection }
      await pause(leftMs)
      continue
    }
    if (box.desired.power === 'stopped' && !box.urlSettings.wake) checkRunning(box)
    if (leftMs <= 0) throw timeoutFault(box)
    if (nextStep({ box, service: null, at: { boxId: id, port } }, clock.now()) === 'wait') await pause(leftMs)
    else if (wasResumed)
      throw new ServiceError('runtime_unavailable', `The box "${name}" started, but stopped at once.`, RETRY)
    else {
      await boxes.resume({ project, name }, { waitMs: leftMs, ifMatch: null, idempotencyKey: null })
      wasResumed = true
    }
  }
}

async function lookUp({ boxes }: BoxPortOpenerDeps, { id, project, name }: BoxRecord): Promise<BoxRecord> {
  const box = await boxes.get({ project, name })
  if (box.id !== id) throw new ServiceError('box_not_found', 'The box was deleted, and another box has its name.')
  return box
}

function isRunning({ desired, observed }: BoxRecord): boolean {
  return desired.power === 'running' && observed.status === 'running'
}

function keyOf({ box, port }: PortTarget): string {
  return `${box.id} ${port}`
}

function isClosedPort(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'port_not_listening'
}

function timeoutFault({ name, restore }: BoxRecord): ServiceError {
  if (restore !== null)
    return refusal('box_busy', [`The box "${name}" is being restored.`, 'Try again when that is done.'], RETRY)
  return new ServiceError('agent_timeout', `The box "${name}" does not run yet. Retry later.`, RETRY)
}

const FIRST_PAUSE_MS = 20
const LAST_PAUSE_MS = 250
/** So that the waits of one project look 500 times a second at most, however many ports they are for. */
const SPACING_MS = 2
const RETRY = { headers: { 'Retry-After': '5' } }
const OPENED = {
  name: 'boxyard_port_connections_total',
  help: 'Connections to ports of boxes that were opened over WebSockets.',
  labels: [],
} as const
