import type { Client } from '../front/client.ts'

/** Requested and acknowledged changes of a machine. The test keeps this record outside the machine. */
export interface Effects {
  /** Returns the number of acknowledged requests. */
  count(): number
  /** Sends requests for each kind of change until one gets no answer. The service may have performed that last request or not. */
  run(): Promise<void>
  /** Compares the machine's state with the acknowledged changes. @throws Error that names lost changes, and changes without a request */
  compare(): Promise<void>
}

/** Creates changes in `project`: files, tags and snapshots of the running box `box`, and data volumes. */
export function createEffects(client: Client, { project, box }: { project: string; box: string }): Effects {
  const path = `/v1/projects/${project}/boxes/${box}`
  const kinds = [
    ...['a', 'b'].map((name) => writtenFiles(client, { project, box, name })),
    tags(client, path),
    snapshots(client, path),
    volumes(client, `/v1/projects/${project}/data`),
  ]
  const sent = kinds.map(() => 0)
  const acknowledged = kinds.map(() => new Set<number>())
  return {
    count: () => acknowledged.reduce((sum, { size }) => sum + size, 0),
    async run() {
      const repeat = async (kind: Kind, index: number): Promise<void> => {
        for (;;) {
          const number = (sent[index] ?? 0) + 1
          sent[index] = number
          const status = await kind.ask(number).catch(() => null)
          if (status === null) return
          // A server error, such as a timeout, promises nothing.
          if (status >= 500) continue
          if (status >= 300) throw new Error(`${kind.name} ${number} was refused with ${status}.`)
          acknowledged[index]?.add(number)
        }
      }
      await Promise.all(kinds.map(repeat))
    },
    async compare() {
      for (const [index, kind] of kinds.entries()) {
        const found = await kind.find()
        const known = acknowledged[index] ?? new Set()
        const missing = [...known].filter((number) => !found.has(number))
        const strange = [...found].filter((number) => number > (sent[index] ?? 0))
        if (missing.length > 0 || strange.length > 0)
          throw new Error(
            `${kind.name}: of ${known.size} acknowledged ${missing.join(' ')} are lost; ${strange.join(' ')} were never asked for.`,
          )
      }
    },
  }
}

/** One kind of change. It requests each number once, in order. */
interface Kind {
  name: string
  /** Returns the status of the answer. Rejects if no answer came. */
  ask(number: number): Promise<number>
  /** Returns the numbers that exist now. */
  find(): Promise<Set<number>>
}

interface Target {
  project: string
  box: string
  name: string
}

function writtenFiles(client: Client, { project, box, name }: Target): Kind {
  const directory = `/root/effects-${name}`
  return {
    name: `file ${name}`,
    async ask(number) {
      const path = `/v1/projects/${project}/boxes/${box}/files/write?path=${directory}/${number}&parents=true`
      const headers = { 'content-type': 'application/octet-stream' }
      return (await client.call('PUT', path, { raw: `content ${number}\n`, headers })).status
    },
    async find() {
      const line = `mkdir -p ${directory}; cd ${directory}; for file in *; do echo "$file $(cat $file)"; done`
      const { stdout } = (await client.shell(project, box, line)).body
      const lines = [...String(stdout).matchAll(/^(\d+) content (\d+)$/gm)]
      return new Set(lines.filter(([, file, content]) => file === content).map(([, file]) => Number(file)))
    },
  }
}

function tags(client: Client, path: string): Kind {
  const all: Record<string, string> = {}
  return {
    name: 'tag',
    async ask(number) {
      // The service allows few tags, so later requests overwrite the tags of earlier ones.
      all[`tag${number % 10}`] = String(number)
      return (await client.put(path, { tags: all })).status
    },
    async find() {
      const { body } = await client.get(path)
      const newest = Math.max(0, ...Object.values(body.tags).map(Number))
      return new Set(Array.from({ length: newest }, (_, i) => i + 1))
    },
  }
}

function snapshots(client: Client, path: string): Kind {
  return {
    name: 'snapshot',
    ask: async (number) => (await client.post(`${path}/snapshots`, { name: `s${number}` })).status,
    async find() {
      const { body } = await client.get(`${path}/snapshots?max_results=1000`)
      return numbersOf(body.snapshots, /^s(\d+)$/)
    },
  }
}

function volumes(client: Client, path: string): Kind {
  return {
    name: 'volume',
    ask: async (number) => (await client.post(path, { name: `v${number}`, size_gb: 0.1 })).status,
    async find() {
      const { body } = await client.get(`${path}?max_results=1000`)
      return numbersOf(body.volumes ?? body.data, /^v(\d+)$/)
    },
  }
}

function numbersOf(things: readonly { name: string }[], pattern: RegExp): Set<number> {
  return new Set(things.flatMap(({ name }) => (pattern.test(name) ? [Number(pattern.exec(name)?.[1])] : [])))
}
