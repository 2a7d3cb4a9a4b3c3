import { ServiceError } from '../../../shared/errors.ts'
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
   * Connects to a TCP port of a box, which is in use until the connection has closed. Starts a stopped box whose `url_settings.wake` is
   * set, as a request for its URL does, and waits for one that starts; then until its port takes connections: 25 s at most.
   * @throws ServiceError `box_not_running`, `port_not_listening`, `port_unreachable`, `box_not_found` for a box that was deleted
   * meanwhile, `box_busy` while it is being restored, `runtime_unavailable`, `agent_timeout`
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
  return {
    open: async (box, port) => {
      const endUse = deps.activity.begin(box.id)
      try {
        const connection = await reach(deps, box, port)
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

async function reach(deps: BoxPortOpenerDeps, { id, project, name }: BoxRecord, port: number): Promise<PortConnection> {
  const { boxes, runtime, clock } = deps
  const endsAt = clock.now() + WAKE_TIMEOUT_MS
  const pause = (leftMs: number): Promise<void> => clock.sleep(Math.min(PAUSE_MS, leftMs))
  let wasRunning = true
  let wasResumed = false
  for (;;) {
    const box = await boxes.get({ project, name })
    if (box.id !== id) throw new ServiceError('box_not_found', 'The box is gone; another has its name.')
    const leftMs = endsAt - clock.now()
    if (box.desired.power === 'running' && box.observed.status === 'running') {
      const connection = await runtime.connect(id, port).catch((error: unknown) => {
        // Its programs need a moment after its start.
        if (wasRunning || leftMs <= 0 || !isClosedPort(error)) throw error
        return null
      })
      if (connection !== null) return connection
      await pause(leftMs)
      continue
    }
    wasRunning = false
    if (box.desired.power === 'stopped' && !box.urlSettings.wake) checkRunning(box)
    if (leftMs <= 0) throw timeoutFault(box)
    if (nextStep({ box, service: null, at: { boxId: id, port } }, clock.now()) === 'wait') await pause(leftMs)
    else if (wasResumed) throw new ServiceError('runtime_unavailable', `The box "${name}" ended at once.`, RETRY)
    else {
      await boxes.resume({ project, name }, { waitMs: leftMs, ifMatch: null, idempotencyKey: null })
      wasResumed = true
    }
  }
}

function isClosedPort(error: unknown): boolean {
  return error instanceof ServiceError && error.code === 'port_not_listening'
}

function timeoutFault({ name, restore }: BoxRecord): ServiceError {
  if (restore !== null) return new ServiceError('box_busy', `The box "${name}" is being restored.`, RETRY)
  return new ServiceError('agent_timeout', `The box "${name}" does not run yet; try again.`, RETRY)
}

const PAUSE_MS = 20
const RETRY = { headers: { 'Retry-After': '5' } }
const OPENED = {
  name: 'boxyard_port_connections_total',
  help: 'Connections to ports of boxes over WebSockets that were opened.',
  labels: [],
} as const
