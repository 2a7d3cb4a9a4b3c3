import type { EdgeServed } from '../../ports/edge/edge.ts'
import { askHaproxy } from './admin.ts'
import type { EdgeProcess } from './process.ts'

/**
 * Reads the statistics of the current process, with the open connections of all processes. Returns null unless it answers within
 * `TIMEOUT_MS`.
 */
export async function readServed(
  [current, ...retired]: readonly EdgeProcess[],
  maps: { routes: string; grants: string },
): Promise<EdgeServed | null> {
  if (!current) return null
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const openOf = async ({ socket }: EdgeProcess): Promise<number> =>
    countOf(frontendOf(await askHaproxy(socket, STATISTICS, signal)), 'scur')
  try {
    const [text, ...others] = await Promise.all([
      askHaproxy(current.socket, `${STATISTICS};show map`, signal),
      ...retired.map((process) => openOf(process).catch(() => 0)),
    ])
    const served = parseServed(text, maps)
    const open = others.reduce((sum, each) => sum + each, served.connections.open)
    return { ...served, connections: { ...served.connections, open } }
  } catch {
    return null
  }
}

function parseServed(text: string, maps: { routes: string; grants: string }): EdgeServed {
  const frontend = frontendOf(text)
  const edge = (name: string): number => countOf(frontend, name)
  const backends = BOX_BACKENDS.map((name) => rowOf(text, `${name},BACKEND`))
  const boxes = (name: string): number => backends.reduce((sum, row) => sum + countOf(row, name), 0)
  return {
    answers: {
      '1xx': edge('hrsp_1xx'),
      '2xx': edge('hrsp_2xx'),
      '3xx': edge('hrsp_3xx'),
      '4xx': edge('hrsp_4xx'),
      '5xx': edge('hrsp_5xx'),
      other: edge('hrsp_other'),
    },
    refused: { malformed: edge('ereq'), notAdmitted: edge('intercepted') },
    connections: { total: edge('conn_tot'), open: edge('scur'), limit: edge('slim') },
    receivedBytes: edge('bin'),
    sentBytes: edge('bout'),
    boxErrors: {
      // Requests that went to the agent after a failure, without those that had reached the box.
      connect: boxes('wredis') - boxes('wretr'),
      // HAProxy counts a reset followed by a retry in both, and another failure in one of them.
      answer: Math.max(boxes('eresp'), boxes('wretr')),
    },
    names: entriesOf(text, maps.routes),
    grants: entriesOf(text, maps.grants),
  }
}

function frontendOf(text: string): Row {
  return rowOf(text, 'edge,FRONTEND')
}

/** Values by column name. */
type Row = ReadonlyMap<string, string>

function rowOf(text: string, start: string): Row {
  const columnsOf = (begin: string): string[] =>
    text
      .split('\n')
      .find((line) => line.startsWith(`${begin},`))
      ?.split(',') ?? []
  const [names, values] = [columnsOf('# pxname'), columnsOf(start)]
  return new Map(names.map((name, column) => [name, values[column] ?? '']))
}

function countOf(row: Row, name: string): number {
  return soundCount(row.get(name), name)
}

function entriesOf(text: string, path: string): number {
  const line = text.split('\n').find((each) => each.includes(` (${path}) `))
  return soundCount(/ entry_cnt=(\d+)$/.exec(line ?? '')?.[1], path)
}

function soundCount(text: string | undefined, what: string): number {
  if (text === undefined || !/^\d+$/.test(text)) throw new Error(`the edge does not report ${what}`)
  return Number(text)
}

/** Statistics of frontends and backends, without servers. */
const STATISTICS = 'show stat -1 3 -1'
const BOX_BACKENDS = ['boxes', 'boxes_page', 'boxes_h2c', 'boxes_h2c_page']
/** Well below the scrape timeout of Prometheus. */
const TIMEOUT_MS = 2_000
