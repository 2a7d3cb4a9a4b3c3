import { readdirSync, readFileSync } from 'node:fs'
import type { SeenPod } from '../pods/pod-proxy.ts'
import { type BoxSeen, startWeather, until, type Weather } from '../pods/weather.ts'

/** A service with a warm pool in the test cluster. */
export interface WarmService extends Weather {
  /** Returns the running warm pods, except pods that are being deleted. */
  warmPods(): SeenPod[]
  /** Waits until the pool is full. */
  untilFull(): Promise<SeenPod[]>
  /** Creates a box in a warm pod. */
  createWarm(name: string, body?: object): Promise<BoxSeen>
  /** Returns the host pid of init in a warm pod or a box. */
  initOf(pod: SeenPod): number
}

/** Starts a service and waits until its pool is full. */
export async function startWarmService(size: number): Promise<WarmService> {
  const weather = await startWeather({ settings: { BOXYARD_WARM_POOL: String(size) } })
  const warmPods = (): SeenPod[] =>
    weather
      .pods()
      .filter(
        ({ name, box, phase, isDeleted }) => /^warm-/.test(name) && box === '' && phase === 'Running' && !isDeleted,
      )
  const service: WarmService = {
    ...weather,
    warmPods,
    untilFull: async () => {
      await until(() => warmPods().length === size, `${size} pods wait`)
      return warmPods()
    },
    createWarm: async (name, body) => {
      await service.untilFull()
      const box = await weather.createBox(name, body)
      if (!weather.podOf(name).name.startsWith('warm-')) throw new Error(`${name} did not start in a pod that waited.`)
      return box
    },
    initOf: ({ uid }) => findInit(uid),
  }
  try {
    await service.untilFull()
    return service
  } catch (error) {
    await weather.close()
    throw error
  }
}

function findInit(podUid: string): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const init = pids.find((pid) => {
    return readText(`/proc/${pid}/comm`) === 'init\n' && readText(`/proc/${pid}/cgroup`).includes(podUid)
  })
  if (init === undefined) throw new Error(`The pod ${podUid} has no init.`)
  return Number(init)
}

/** Returns '' if the process has ended. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
