import { setTimeout as sleep } from 'node:timers/promises'
import { instanceOf, pidsOf, readWorld } from '../boxes/world.ts'
import { type Client, createClient } from '../front/client.ts'
import { startService, type TestService, type TestServiceOptions } from '../service.ts'
import { kubectl, succeed } from './kubectl.ts'
import { openPodProxy, type SeenPod } from './pod-proxy.ts'

/** A service whose boxes are pods, in a cluster with faults. */
export interface Weather {
  service: TestService
  client: Client
  /** Path of the boxes of project `weather`. */
  boxes: string
  /** Returns the pods of this service. Throws while the API server does not answer. */
  pods(): SeenPod[]
  /** Returns a box's only pod, not counting pods in deletion. Throws unless there is exactly one. */
  podOf(box: string): SeenPod
  /** Runs kubectl as the cluster's admin, in the namespace of the boxes. Throws if it fails. */
  kubectl(...args: string[]): string
  /** Creates a box. Throws unless it reaches `running`. */
  createBox(name: string, body?: object): Promise<BoxSeen>
  getBox(name: string): Promise<BoxSeen>
  /** Stops or resumes a box, and waits for the new status. This is slow on a busy machine. Throws if the service refuses. */
  turn(act: 'stop' | 'resume', name: string): Promise<void>
  /** Runs a command line in a box and returns its stdout. Throws unless it exits with 0. */
  run(box: string, line: string): Promise<string>
  /** Returns the codes of the health report's problems. */
  faults(): Promise<string[]>
  /** Waits until records, pods, processes and roots agree on the boxes. Each running box must have one running pod. */
  untilAgreed(): Promise<void>
  close(): Promise<void>
}

/** The fields of a box that these tests read. */
export interface BoxSeen {
  id: string
  name: string
  status: string
  state: { reason: string; message: string | null }
  config: { cpus: number; ram_mb: number }
}

/** Starts a service. `kubeconfig` is the admin's, by default from the tests' cluster. */
export async function startWeather(
  options: TestServiceOptions & { kubeconfig?: string; namespace?: string } = {},
): Promise<Weather> {
  const { kubeconfig = process.env['KUBECONFIG'] ?? '', namespace = 'boxyard' } = options
  const service = await startService(options)
  const client = createClient(
    () => service.url,
    () => service.adminToken,
  )
  const boxes = '/v1/projects/weather/boxes'
  const ask = (...args: string[]): string =>
    succeed(kubectl(`--kubeconfig=${kubeconfig}`, `--namespace=${namespace}`, ...args)).stdout
  const view = await openPodProxy({ kubeconfig, namespace, instance: instanceOf(service) }).catch(
    async (error: unknown) => {
      await service.close()
      throw error
    },
  )
  const pods = view.list
  const getBox = async (name: string): Promise<BoxSeen> => (await client.get(`${boxes}/${name}`)).body
  return {
    service,
    client,
    boxes,
    pods,
    podOf: (box) => {
      const found = pods().filter((pod) => pod.box === box && !pod.isDeleted)
      if (found[0] === undefined || found.length > 1) throw new Error(`${box} has ${found.length} pods.`)
      return found[0]
    },
    kubectl: ask,
    createBox: async (name, body = {}) => {
      const { status, text } = await client.post(boxes, { name, config: SMALL, ...body })
      if (status !== 201 && status !== 202) throw new Error(`${name} is not made: ${status} ${text}`)
      return until(async () => {
        const made = await getBox(name)
        if (made.status !== 'running' && made.status !== 'pending')
          throw new Error(`${name} does not run: ${JSON.stringify(made)}`)
        return made.status === 'running' ? made : null
      }, `${name} runs`)
    },
    getBox,
    turn: async (act, name) => {
      const { status, text } = await client.post(`${boxes}/${name}/${act}`)
      if (status !== 200 && status !== 202) throw new Error(`${act} of ${name}: ${status} ${text}`)
      const wanted = act === 'stop' ? 'stopped' : 'running'
      await until(async () => (await getBox(name)).status === wanted, `${name} is ${wanted}`)
    },
    run: async (box, line) => {
      const { body, text } = await client.shell('weather', box, line)
      if (body?.exit_code !== 0) throw new Error(`"${line}" in ${box}: ${text}`)
      return body.stdout
    },
    faults: async () => (await client.get('/healthz')).body.problems.map(({ code }: { code: string }) => code),
    untilAgreed: () => untilAgreed({ service, client, boxes, pods }),
    close: async () => {
      view.close()
      await service.close()
    },
  }
}

/** Polls `read` until its result is truthy, and returns the result. After `deadlineMs`, throws an error that names `what`. */
export async function until<T>(
  read: () => T | Promise<T>,
  what: string,
  deadlineMs = 180_000,
): Promise<NonNullable<T>> {
  const deadline = performance.now() + deadlineMs
  for (;;) {
    const value = await read()
    if (value) return value
    if (performance.now() > deadline) throw new Error(`It did not come to that: ${what}`)
    await sleep(PAUSE_MS)
  }
}

/** Runs commands in a box, one after another, until `stop`. It resolves with their number, or rejects if one failed. */
export function keepRunning(weather: Weather, box: string): { stop(): Promise<number> } {
  let isOver = false
  const work = (async () => {
    let count = 0
    for (; !isOver; count++) {
      const output = await weather.run(box, `echo ${count}`)
      if (output !== `${count}\n`) throw new Error(`A command in ${box} said: ${output}`)
      await sleep(COMMAND_PAUSE_MS)
    }
    return count
  })()
  work.catch(() => undefined)
  return {
    stop: () => {
      isOver = true
      return work
    },
  }
}

async function untilAgreed({
  service,
  client,
  boxes,
  pods,
}: Pick<Weather, 'service' | 'client' | 'boxes' | 'pods'>): Promise<void> {
  let last = ''
  const listPods = (): string[] =>
    pods()
      .map(({ box, phase }) => `${box} ${phase}`)
      .sort()
  const read = async (): Promise<boolean> => {
    const records: BoxSeen[] = (await client.get(boxes)).body.boxes
    const running = records.filter(({ status }) => status === 'running')
    const ids = running.map(({ id }) => id).sort()
    const { volumes: _volumes, ...world } = readWorld(service)
    const expected = { running: ids, states: ids, roots: records.map(({ id }) => id).sort() }
    const expectedPods = running.map(({ name }) => `${name} Running`).sort()
    const isWorldAsExpected = JSON.stringify(world) === JSON.stringify(expected)
    const seenPods = isWorldAsExpected ? listPods() : null
    last = JSON.stringify({
      seen: { ...world, pods: seenPods },
      expected: { ...expected, pods: expectedPods },
      records: records.map(({ name, status, state }) => ({ name, status, state })),
    })
    return JSON.stringify(seenPods) === JSON.stringify(expectedPods)
  }
  await until(read, 'records and world agree').catch((error: unknown) => {
    throw new Error(`${String(error)}: ${last}`)
  })
}

/** Returns the host pids of a box. Tests use them to recognize processes that kept running. */
export function pidsOfBox({ service }: Weather, { id }: Pick<BoxSeen, 'id'>): number[] {
  return pidsOf(service, id)
}

const SMALL = { ram_mb: 64, cpus: 0.5, storage_gb: 1 }
const PAUSE_MS = 250
const COMMAND_PAUSE_MS = 100
