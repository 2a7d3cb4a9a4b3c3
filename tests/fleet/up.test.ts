import { readFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { dirname, join } from 'node:path'
import { afterAll, expect, test } from '@jest/globals'
import { findProcesses } from '../../infra/cluster/cgroups.ts'
import { clusterNodes, type NodeRecord, nodeCgroup } from '../../infra/cluster/nodes.ts'
import { findHolder } from '../../infra/cluster/part-process.ts'
import { clusterPaths, readRecord } from '../../infra/cluster/record.ts'
import { ROOT } from '../../infra/commands.ts'
import { commandsIn, missingFrom } from '../helpers/console-blocks.ts'
import { untilSucceeds } from '../helpers/eventually.ts'
import { setLink } from '../helpers/fleet/faults.ts'
import { createReader, type Reader } from '../helpers/fleet/reader.ts'
import { type Rig, runScript, startRig, startScript, untilPrinted } from '../helpers/fleet/rig.ts'
import { type Client, createClient } from '../helpers/front/client.ts'
import { findHostTraces } from '../helpers/host-traces.ts'
import { kubectl, succeed } from '../helpers/pods/kubectl.ts'

// This fleet has its own cluster, beside the cluster of the whole suite.

const PAGE = 'docs/fleet.md'
const name = `up-${process.pid}`
const boxes = '/v1/projects/demo/boxes'
const before = findHostTraces(name)
const [tryIt = '', lost = ''] = readFileSync(join(ROOT, PAGE), 'utf8').split(/^### A node is lost$/m)
let rig: Rig
let reader: Reader

const traces = (): string[] => findHostTraces(name).filter((trace) => !before.includes(trace))
const doorOf = (index: number): Client => {
  const door = rig.doors[index % rig.doors.length]
  if (door === undefined) throw new Error('There are no doors.')
  return door
}
const numbered = (number: number): NodeRecord => {
  const record = readRecord(name)
  const node = record === null ? undefined : clusterNodes(record)[number - 1]
  if (node === undefined) throw new Error(`There is no node ${number}.`)
  return node
}
/** Returns the node of a box, or the first other node. */
const nodeOf = async (box: string, isItsOwn = true): Promise<NodeRecord> => {
  const record = readRecord(name)
  const owner = (await doorOf(0).get(`${boxes}/${box}`)).body?.node
  const found = record === null ? [] : clusterNodes(record).filter((node) => (node.name === owner) === isItsOwn)
  if (found[0] === undefined) throw new Error(`There is no such node: ${owner}`)
  return found[0]
}

afterAll(async () => {
  reader?.close()
  await runScript('fleet/down', name)
})

test('a newcomer runs a service on one node of several by the settings that cluster:up prints', async () => {
  const printed = await runScript('cluster-up', name, '--nodes=3')
  const block = printed.output.split(/^# /m)[2] ?? ''
  const enter = /\((.*) COMMAND…\)/.exec(block)?.[1] ?? ''
  const settings = Object.fromEntries(
    [...block.matchAll(/^(BOXYARD_\w+)=(.*)$/gm)].map(([, variable = '', value = '']) => [variable, value]),
  )
  const env = { ...settings, BOXYARD_BASE: 'busybox', BOXYARD_POOL_GB: '1' }
  const up = startScript('up', [], { env, enter })
  await untilPrinted(up, /^Boxyard is ready at /m)
  const [, url = '', tokenFile = ''] = /ready at (\S+) \(admin token in (\S+)\)/.exec(up.output()) ?? []
  const client = createClient(
    () => url,
    () => readFileSync(tokenFile, 'utf8').trim(),
  )
  expect((await client.post(boxes, { name: 'web' })).body?.status).toBe('running')
  expect((await client.shell('demo', 'web', 'hostname')).body?.stdout).toBe('web\n')
  up.process.kill('SIGTERM')
  expect(await up.exited).toBe(0)
  expect(await runScript('fleet/down', name)).toMatchObject({ code: 0 })
  await untilSucceeds(async () => expect(traces()).toEqual([]))
})

/** Backdates the third agent's heartbeat by four minutes. This replaces the page's wait of three minutes. */
const AGE_HEARTBEAT = `kubectl -n boxyard patch agent n3 --subresource=status --type=merge -p \
  '{"status":{"heartbeatAt":"${new Date(Date.now() - 240_000).toISOString()}"}}' >/dev/null`

/** Replaces the page's addresses, host names and directory with this machine's. */
const here = (text: string): string =>
  [2, 3, 4]
    .reduce((said, last, index) => said.replaceAll(`http://10.186.200.${last}:8080`, rig.urls[index] ?? ''), text)
    .replaceAll('/var/lib/boxyard-cluster/fleet', clusterPaths(name).state)
    .replaceAll(/\bhost-(\d)/g, `${hostname().toLowerCase()}-$1`)
    .replaceAll(/(fleet:node -- \w+ \d)/g, `$1 ${name}`)
    .replace('sleep 180;', `${AGE_HEARTBEAT};`)

test('fleet:up starts a fleet with a door at each node, all of which are one service', async () => {
  rig = await startRig(name)
  expect(rig.doors.length).toBe(3)
  expect(rig.output().match(/^Boxyard fleet is ready$/gm)).toHaveLength(1)
  expect(rig.output()).toMatch(/Boxyard fleet is ready\n$/)
  expect(rig.output()).toMatch(/^CONSOLE=http:\/\/\S+\/sign-in#\S+$/m)
  for (const [index, door] of rig.doors.entries()) {
    const made = await door.post(boxes, { name: `box-${index}` })
    expect([made.status, made.body?.status]).toEqual([201, 'running'])
    const said = await doorOf(index + 1).shell('demo', `box-${index}`, 'echo kept >kept; hostname')
    expect(said.body?.stdout).toBe(`box-${index}\n`)
  }
  for (const door of rig.doors) {
    const listed = (await door.get(boxes)).body?.boxes ?? []
    expect(listed.map((box: { name: string }) => box.name)).toEqual(['box-0', 'box-1', 'box-2'])
  }
  const pods = kubectl(
    `--kubeconfig=${rig.kubeconfig}`,
    '-n',
    'boxyard',
    'get',
    'pods',
    '-l',
    'app.kubernetes.io/name=box',
    '-o',
    'name',
  )
  expect(succeed(pods).stdout.trim().split('\n')).toHaveLength(3)
})

test('the commands of the page do what it shows', async () => {
  const [up, ...others] = commandsIn(PAGE, tryIt)
  expect(up?.command).toBe('npm run fleet:up')
  expect(missingFrom(rig.output(), (up?.shown ?? []).map(here))).toEqual([])
  reader = await createReader(here)
  for (const command of others) await reader.follow(command)
})

test('a node that loses its power is told as the page shows, others go on, and it comes back with its boxes', async () => {
  const commands = commandsIn(PAGE, lost)
  const isDown = (command: string): boolean => / down 3$/.test(command)
  const falls = commands.findIndex(({ command }) => isDown(command))
  for (const command of commands.slice(0, falls)) await reader.follow(command)
  // Start time of a box's first process. A restarted process would have another time.
  const begun = "cut -d' ' -f22 /proc/1/stat"
  const askAll = async (): Promise<unknown[]> => {
    const asked = [0, 1].map(async (door) => {
      const { status, body } = await doorOf(door).shell('shop', `app-${2 - door}`, begun)
      return [status, body?.stdout]
    })
    return Promise.all(asked)
  }
  const first = await askAll()
  let isOver = false
  const goOn = async (): Promise<void> => {
    while (!isOver) expect(await askAll()).toEqual(first)
  }
  const session = async (): Promise<void> => {
    for (const command of commands.slice(falls)) {
      await reader.follow(command)
      if (isDown(command.command)) expect(findProcesses(nodeCgroup(name, numbered(3)))).toEqual([])
    }
  }
  await Promise.all([goOn(), session().finally(() => (isOver = true))])
})

test('what can be told beforehand is refused in words', async () => {
  const refused = async (args: string[], env: Record<string, string> = {}): Promise<string> => {
    const script = startScript('fleet/up', args, { env })
    expect(await script.exited).toBe(1)
    return script.output()
  }
  expect(await refused([name])).toMatch(/^The fleet did not start: The fleet \S+ already runs \(process \d+\)\./)
  expect(await refused(['other', '--nodes=1'])).toContain(
    'A fleet needs at least two nodes. For one host, use: npm run up',
  )
  expect(await refused(['other'], { BOXYARD_PORT: '1' })).toContain(
    'BOXYARD_PORT is set, but each cell of a fleet has its own. Run: unset BOXYARD_PORT',
  )
})

test('a node whose link is down is missed by others, and is back with it', async () => {
  const record = readRecord(name)
  if (record === null) throw new Error('There is no cluster.')
  const { number } = await nodeOf('box-2')
  setLink(record, number, 'down')
  try {
    const missed = await doorOf(number).call('POST', `${boxes}/box-2/exec`, { body: { shell: 'true' } })
    // For a request on an open connection, the client cannot know whether it arrived.
    expect(['agent_unavailable', 'agent_timeout']).toContain(missed.body?.code)
  } finally {
    setLink(record, number, 'up')
  }
  await untilSucceeds(async () => {
    expect((await doorOf(number).shell('demo', 'box-2', 'cat kept')).body?.stdout).toBe('kept\n')
  })
})

test('Ctrl-C ends agents and fronts, boxes run on, and another takes them over, also after a kill', async () => {
  rig.process.kill('SIGINT')
  expect(await rig.exited).toBe(0)
  expect(rig.output()).toMatch(/Stopping\. Boxes keep running\.\n$/)
  expect(traces().filter((trace) => /main\.ts|standalone\.ts/.test(trace))).toEqual([])
  rig = await startRig(name)
  expect((await doorOf(1).shell('demo', 'box-0', 'cat kept')).body?.stdout).toBe('kept\n')
  const other = await nodeOf('box-0', false)
  rig.process.kill('SIGKILL')
  await rig.exited
  await untilSucceeds(async () => {
    expect(traces().filter((trace) => /main\.ts|standalone\.ts/.test(trace))).toEqual([])
  })
  // Simulates a power cut of another node.
  process.kill(findHolder(name, other), 'SIGKILL')
  rig = await startRig(name)
  expect((await doorOf(2).shell('demo', 'box-0', 'cat kept')).body?.stdout).toBe('kept\n')
})

test('fleet:down ends all of it and leaves nothing', async () => {
  expect(dirname(rig.kubeconfig)).toBe(clusterPaths(name).state)
  const down = await runScript('fleet/down', name)
  expect(down).toEqual({ code: 0, output: expect.stringMatching(/^Removed the fleet \S+ in [\d.]+ s\n$/) })
  expect(await rig.exited).toBe(0)
  await untilSucceeds(async () => expect(traces()).toEqual([]))
  expect((await runScript('fleet/down', name)).output).toBe(`There is no fleet ${name}.\n`)
})
