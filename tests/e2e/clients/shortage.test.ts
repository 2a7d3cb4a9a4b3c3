import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { createBoxyard } from '../../../sdk/typescript/src/boxyard.ts'
import { useSshLab } from '../../helpers/clients/ssh-lab.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useOwnService } from '../../helpers/own-service.ts'

const PIDS = 32
const lab = useSshLab(useOwnService(async () => ({ settings: { BOXYARD_PIDS_PER_BOX: String(PIDS) } })))
const { client } = lab
const BOX = '/v1/projects/demo/boxes/web'
const HOST = 'web.demo.boxyard'
const LINE = `cannot be started: the box is at its limit of ${PIDS} processes`
const sdk = () => createBoxyard({ url: lab.service().url, token: lab.service().adminToken }).box('demo', 'web')

describe('in a box at its process limit, a command is refused with the reason', () => {
  let filler = ''

  beforeAll(async () => {
    const shell = 'while :; do sleep 7004 & done'
    // The last sleep replaces the shell that starts the others, so the box stays full.
    const script = `trap '' HUP; (${shell}) 2>/dev/null; exec sleep 7004`
    filler = (await client.post(`${BOX}/exec?wait_seconds=0`, { shell: script, no_hup: true })).body.id
    await eventually(async () => (await client.get(`${BOX}/metrics`)).body.pids.current >= PIDS - 1)
  })

  afterAll(async () => {
    await client.post(`${BOX}/exec/${filler}/signal`, { signal: 'SIGKILL' })
  })

  test('by POST and in its record, also detached', async () => {
    for (const more of [{}, { tty: true }, { no_hup: true }]) {
      const { status, body } = await client.post(`${BOX}/exec?wait_seconds=20`, { command: ['true'], ...more })
      expect([more, status, body]).toMatchObject([more, 200, REFUSED])
      expect(body.stdout + body.stderr).toContain(LINE)
      const { body: found } = await client.get(`${BOX}/exec/${body.id}`)
      expect(found).toMatchObject(REFUSED)
    }
  })

  test('over a WebSocket, with and without a terminal', async () => {
    for (const options of [{}, { tty: true }, { noHup: true }]) {
      const stream = await sdk().stream(['true'], options)
      let text = ''
      for await (const { bytes } of stream) text += Buffer.from(bytes).toString()
      expect(text).toContain(LINE)
      expect(await stream.ended()).toMatchObject({ exitCode: 126, reason: 'process_limit_reached' })
    }
  })

  test('by the command line', async () => {
    const plain = await lab.boxyard('exec', 'web', 'true')
    expect([plain.code, plain.stderr]).toEqual([126, `boxyard: true: ${LINE}\n`])
  })

  test.each([
    ['', []],
    [' -t', ['-tt']],
  ])('by ssh%s', async (_, flags) => {
    const { code, stdout, stderr } = await lab.ssh([...flags, HOST, 'true'])
    expect([code, stdout.toString() + stderr]).toEqual([126, expect.stringContaining(LINE)])
  })

  test('by a console', async () => {
    const console = await sdk().console({ session: 'full' })
    let text = ''
    for await (const { bytes } of console) text += Buffer.from(bytes).toString()
    expect(text).toContain(LINE)
    expect(await console.ended()).toMatchObject({ exitCode: 126, reason: 'process_limit_reached' })
  })
})

const REFUSED = { status: 'exited', exit_code: 126, signal: null, reason: 'process_limit_reached', oom_kills: 0 }
