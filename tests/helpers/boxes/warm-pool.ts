import { readdirSync, readFileSync } from 'node:fs'
import { type BoxSeen, type SeenPod, startWeather, until, type Weather } from '../pods/weather.ts'

/** A service that keeps pods ready, in the cluster of the tests. */
export interface WarmService extends Weather {
  /** The pods that wait and run, without those that somebody deletes. */
  stubs(): SeenPod[]
  /** Waits until there are as many as there shall be. */
  untilFull(): Promise<SeenPod[]>
  /** Creates a box in a pod that waited. */
  createWarm(name: string, body?: object): Promise<BoxSeen>
  /** The host's pid of the init of a pod that waits, or of a box. */
  initOf(pod: SeenPod): number
}

/** Starts one and waits until its pods are ready. */
export async function startWarmService(size: number): Promise<WarmService> {
  const weather = await startWeather({ settings: { BOXYARD_WARM_POOL: String(size) } })
  const stubs = (): SeenPod[] =>
    weather
      .pods()
      .filter(
        ({ name, box, phase, isDeleted }) => /^warm-/.test(name) && box === '' && phase === 'Running' && !isDeleted,
      )
  const service: WarmService = {
    ...weather,
    stubs,
    untilFull: async () => {
      await until(() => stubs().length === size, `${size} pods wait`)
      return stubs()
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

/** What ends meanwhile has none. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
