import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, describe, expect, test } from '@jest/globals'
import type { HookCall } from '../../../agent/drivers/pods/node-hook.ts'
import { untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { type OciNode, ociConfig, openOciNode } from '../../helpers/pods/oci-node.ts'

let node: OciNode
const BOX = ociConfig()

beforeEach(() => {
  node = openOciNode()
})

afterEach(() => node.close())

describe('other commands go to runc unchanged', () => {
  test.each<[string, string[]]>([
    ['another command', ['--root', '/run/runc', 'state', 'f00d']],
    ['no command at all', ['--version']],
    ['arguments of several words', ['exec', '--process', '/tmp/a b/p.json', '', '*', "it's", '$(id)', 'f00d']],
    ['a start', ['--log', '/dev/null', '--log-format', 'json', 'start', 'f00d']],
    ['an argument that is called create', ['--log', 'create', '--root', 'create', 'delete', '--force', 'f00d']],
  ])('%s', async (_, args) => {
    const bundle = node.makeBundle('plain', BOX)
    node.answer(7)
    const { exitCode, stdout } = await node.run(args, { cwd: bundle, input: 'from stdin' })
    expect(exitCode).toBe(7)
    expect(stdout).toBe('from stdin')
    expect(node.calls()).toEqual([args])
  })

  test.each<[string, string | null]>([
    ['another container', ociConfig({ 'io.kubernetes.cri.container-name': 'sidecar' })],
    ['a sandbox', ociConfig({ 'io.kubernetes.cri.container-name': undefined })],
    ['a box without an instance', ociConfig({ 'boxyard.dev/instance': undefined })],
    ['an instance of another form', ociConfig({ 'boxyard.dev/instance': '../../x' })],
    ['an instance of nine letters', ociConfig({ 'boxyard.dev/instance': 'abcd12345' })],
    ['text that looks like a box', ociConfig({ 'io.kubernetes.cri.container-name': 'x', note: BOX })],
    ['no configuration', null],
  ])('the creation of %s', async (_, text) => {
    const bundle = node.makeBundle('other', text)
    node.answer(7)
    const args = ['create', '--bundle', bundle, '--pid-file', `${bundle}/init.pid`, 'f00d']
    expect(await node.run(args, { input: 'from stdin' })).toMatchObject({ exitCode: 7, stdout: 'from stdin' })
    expect(node.calls()).toEqual([args])
    expect(readdirSync(bundle)).not.toContain('boxyard-answer')
  })
})

describe('the creation of a box', () => {
  test('is prepared by the agent in a mount namespace of its own, and is reported once it is done', async () => {
    const seen: [string, HookCall][] = []
    const bundle = node.makeBundle('box', BOX)
    await node.listen({
      prepare: async (call) => {
        seen.push(['prepare', call])
        expect(readFileSync(`/proc/${call.pid}/root${call.bundle}/config.json`, 'utf8')).toBe(BOX)
        const [target, from] = [join(node.home, 'elsewhere'), join(node.home, 'bin')]
        execFileSync('nsenter', [`--mount=/proc/${call.pid}/ns/mnt`, '--', 'mount', '--bind', from, target])
      },
      created: async (call) => void seen.push(['created', call]),
    })
    expect(await node.create(bundle)).toMatchObject({ exitCode: 0 })
    await untilTrue(() => seen.length === 2)
    expect(seen).toEqual([
      ['prepare', { pid: expect.any(Number), bundle }],
      ['created', { pid: 4711, bundle }],
    ])
    expect(node.noted('elsewhere').trim().split('\n')).toEqual(expect.arrayContaining(['runc', 'boxyard-oci']))
    expect(readdirSync(join(node.home, 'elsewhere'))).toEqual([])
    expect(readFileSync('/proc/self/mountinfo', 'utf8')).not.toContain(node.home)
    expect(readdirSync(bundle).sort()).toEqual(['config.json', 'init.pid'])
  })

  test('has no core, no setting of the wrapper, and nothing open but /dev/null', async () => {
    await node.listen()
    await node.create(node.makeBundle('box', BOX))
    expect(node.noted('limits')).toBe('0\n0\n')
    expect(node.noted('environment')).not.toContain('BOXYARD')
    // Files of the node directory belong to the shell that writes the notes. The test runner can have left high descriptors open.
    const open = node
      .noted('open')
      .trim()
      .split('\n')
      .filter((path) => !path.startsWith(node.home))
    expect([...new Set(open)]).toEqual(['/dev/null'])
  })

  test.each(['two words', "it's", 'a "b" $(touch x) `id` \\ *', '-n', 'ümläut'])(
    'in a directory called %j',
    async (name) => {
      const seen: string[] = []
      await node.listen({ prepare: async ({ bundle }) => void seen.push(bundle), created: async () => undefined })
      const bundle = node.makeBundle(name, BOX)
      expect(await node.create(bundle)).toMatchObject({ exitCode: 0 })
      expect(await node.create(bundle, { isNamed: false })).toMatchObject({ exitCode: 0 })
      expect(seen).toEqual([bundle, bundle])
      expect(existsSync(join(node.home, 'x'))).toBe(false)
    },
  )

  test('waits for an agent that is slow, and for each of two at once', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    let held = 0
    await node.listen({
      prepare: async ({ bundle }) => {
        if (++held === 2) setTimeout(resolve, 2_500)
        await promise
        if (bundle.endsWith('two')) throw new Error('not you')
      },
      created: async () => undefined,
    })
    const outcomes = await Promise.all(['one', 'two'].map((name) => node.create(node.makeBundle(name, BOX))))
    expect(outcomes.map(({ exitCode }) => exitCode)).toEqual([0, 1])
    expect(node.calls()).toHaveLength(1)
  })

  test("ends with runc's exit code, and is then not reported", async () => {
    let isTold = false
    await node.listen({ prepare: async () => undefined, created: async () => void (isTold = true) })
    const bundle = node.makeBundle('box', BOX)
    node.answer(9)
    expect(await node.create(bundle)).toMatchObject({ exitCode: 9, reason: null })
    await sleep(50)
    expect(isTold).toBe(false)
    expect(readdirSync(bundle)).not.toContain('boxyard-answer')
  })

  test('ignores the answer left by an earlier attempt', async () => {
    await node.listen()
    const bundle = node.makeBundle('box', BOX)
    writeFileSync(join(bundle, 'boxyard-answer'), 'ok\n')
    expect(await node.create(bundle)).toMatchObject({ exitCode: 0 })
  })
})

describe('a box that cannot be prepared is refused in the words of containerd', () => {
  test.each<[string, string, string]>([
    ['as they are', 'the disk is full', 'the disk is full'],
    ['without quotes', `a "b" 'c' \\d`, `a b 'c' d`],
    ['in one line', 'one\ntwo\r\nthree', 'one two three'],
    ['without control characters', 'a\u001b[31m\u0000\u0007b', 'a[31mb'],
    ['in ASCII', 'gr\u00fc\u00dfe \u2028', 'gre '],
    ['where they look like consent', 'ok, but no', 'ok, but no'],
    ['of any length', 'x'.repeat(3_000), 'x'.repeat(3_000)],
  ])("the agent's reasons: %s", async (_, message, expected) => {
    await node.listen({ prepare: () => Promise.reject(new Error(message)), created: async () => undefined })
    const bundle = node.makeBundle('box', BOX)
    expect(await node.create(bundle)).toMatchObject({ exitCode: 1, reason: `boxyard: ${expected}` })
    expect(node.calls()).toEqual([])
    expect(readdirSync(bundle)).toEqual(['config.json'])
  })

  test('no agent', async () => {
    const begun = performance.now()
    expect(await node.create(node.makeBundle('box', BOX))).toMatchObject({
      exitCode: 1,
      reason: 'boxyard: the agent of instance abcd1234 does not listen on this node',
    })
    expect(performance.now() - begun).toBeLessThan(2_000)
  })

  test('an agent that was killed and left its FIFO', async () => {
    execFileSync('mkfifo', [node.fifo])
    writeFileSync(join(node.fifo, '../node.run'), 'one 4194304\n')
    const begun = performance.now()
    const bundle = node.makeBundle('box', BOX)
    expect(await node.create(bundle)).toMatchObject({ exitCode: 1, reason: expect.stringContaining('does not listen') })
    expect(performance.now() - begun).toBeLessThan(7_000)
    expect(readdirSync(bundle)).toEqual(['config.json'])
  })

  test.each([
    ['that exits before it answers', false],
    ['that is started again before it answers', true],
  ])('an agent %s', async (_, isRestarted) => {
    const asked = Promise.withResolvers<void>()
    const silent = { prepare: () => new Promise<void>(() => asked.resolve()), created: async () => undefined }
    const hook = await node.listen(silent)
    const bundle = node.makeBundle('box', BOX)
    const outcome = node.create(bundle)
    await asked.promise
    hook.close()
    // A killed agent leaves its FIFO behind.
    if (isRestarted) await node.listen(silent)
    else execFileSync('mkfifo', [node.fifo])
    expect(await outcome).toMatchObject({ exitCode: 1, reason: 'boxyard: the agent of instance abcd1234 ended' })
    expect(node.calls()).toEqual([])
    expect(readdirSync(bundle)).toEqual(['config.json'])
  })

  test('an agent that exits before the report of init', async () => {
    const hook = await node.listen({ prepare: async () => hook.close(), created: async () => undefined })
    expect(await node.create(node.makeBundle('box', BOX))).toMatchObject({
      exitCode: 1,
      reason: expect.stringContaining('ended'),
    })
  })

  test('without a log file for the reason', async () => {
    const bundle = node.makeBundle('box', BOX)
    const { exitCode, stderr } = await node.run(['create', '--bundle', bundle, 'f00d'])
    expect(exitCode).toBe(1)
    expect(stderr).toContain('boxyard: the agent of instance abcd1234 does not listen on this node')
  })
})

describe('an agent that gets invalid messages goes on', () => {
  test.each<[string, Buffer]>([
    ['empty lines', Buffer.from('\n\n\n')],
    ['other words', Buffer.from('prepare\nprepare x /y\nremove 1 /\nprepare 1 relative\nprepare -1 /\nok\n')],
    ['bytes of no text', Buffer.from([0, 255, 254, 10, 128, 10])],
    ['containers that are not there', Buffer.from('prepare 4194305 /nowhere\ncreated 4194305 /nowhere\n')],
    ['thousands of lines', Buffer.from('nonsense\n'.repeat(20_000))],
    ['a line without end, and then its end', Buffer.concat([Buffer.alloc(20_000_000, 'x'), Buffer.from('\n')])],
  ])('%s', async (_, bytes) => {
    const listener = { prepare: async () => undefined, created: async () => undefined }
    await node.listen(listener)
    const before = process.memoryUsage().rss
    await writeFile(node.fifo, bytes)
    expect(await node.create(node.makeBundle('box', BOX))).toMatchObject({ exitCode: 0 })
    expect(process.memoryUsage().rss - before).toBeLessThan(200_000_000)
  })

  test('and reads messages that arrive byte by byte', async () => {
    const seen: string[] = []
    await node.listen({ prepare: async () => undefined, created: async ({ bundle }) => void seen.push(bundle) })
    const text = Buffer.from('created 1 /\u00fc\n'.repeat(3))
    for (const byte of text) await writeFile(node.fifo, Buffer.from([byte]))
    await untilTrue(() => seen.length === 3)
    expect(seen).toEqual(['/\u00fc', '/\u00fc', '/\u00fc'])
  })
})
