import { withLock } from '../cluster/host-lock.ts'
import { startNode, stopNode } from '../cluster/node-life.ts'
import { clusterNodes } from '../cluster/nodes.ts'
import { readRecord } from '../cluster/record.ts'
import { isFleet } from './cells.ts'

/** `npm run fleet:node -- down|up N [NAME]` ends node N of a fleet of this machine like a power cut, or restarts it. */
async function main(args: readonly string[]): Promise<void> {
  const [action, number = '', name = 'fleet', ...others] = args
  if (others.length > 0 || (action !== 'down' && action !== 'up') || !/^\d$/.test(number)) return say(HELP)
  await withLock(`cluster:${name}`, async () => {
    const record = isFleet(name) ? readRecord(name) : null
    const node = record === null ? undefined : clusterNodes(record)[Number(number) - 1]
    if (node === undefined) throw new Error(`There is no node ${number} in a fleet ${name}.`)
    await (action === 'down' ? stopNode : startNode)(name, node.number)
    say(`${node.name} is ${action}`)
  })
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

const HELP = `Usage: npm run fleet:node -- down|up N [NAME]

down: stops node N of a fleet like a power cut, with its boxes, agent, front and kubelet. Its disk stays.
up: starts the node again. The running fleet:up then starts its agent and front within half a minute.`

await main(process.argv.slice(2)).catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`)
  process.exitCode = 1
})
