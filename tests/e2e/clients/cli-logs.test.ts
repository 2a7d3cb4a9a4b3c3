import { beforeAll, describe, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { useOwnService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useOwnService())
const { client } = cli
const MIB = 1024 * 1024

beforeAll(async () => {
  expect(await cli.run(['create', 'web'])).toMatchObject({ code: 0 })
})

/** Runs a command that writes this number of bytes to each stream, in lines of 16. Returns its id. */
async function written(bytes: number): Promise<string> {
  const lines = bytes / 16
  const shell = `yes 123456789abcdef | head -n ${lines}; yes fedcba987654321 | head -n ${lines} >&2; echo last`
  const { body } = await client.post('/v1/projects/demo/boxes/web/exec?wait_seconds=25', { shell })
  expect(body).toMatchObject({ status: 'exited', exit_code: 0 })
  return body.id
}

function missing(bytes: number, stream: string): string {
  return `boxyard: skipped ${bytes.toLocaleString('en')} bytes of ${stream} that are no longer kept.`
}

describe('logs of a command', () => {
  test('are all that it wrote', async () => {
    const id = await written(5 * MIB)
    for (const flags of [[], ['-f']]) {
      const { code, stdout, stderr } = await cli.run(['logs', 'web', id, ...flags])
      expect([code, stdout.length, stderr.length]).toEqual([0, 5 * MIB + 5, 5 * MIB])
      expect(stdout).toMatch(/^123456789abcdef\n/)
      expect(stdout).toMatch(/123456789abcdef\nlast\n$/)
    }
  })

  test('tell what is not kept any more', async () => {
    const id = await written(10 * MIB)
    for (const flags of [[], ['-f']]) {
      const { code, stdout, stderr } = await cli.run(['logs', 'web', id, ...flags])
      const left = 2 * MIB + 5
      expect([code, stdout.length]).toEqual([0, 8 * MIB])
      const told = stderr.split('\n').filter((line) => line.startsWith('boxyard: '))
      expect(told.toSorted()).toEqual([missing(2 * MIB, 'stderr'), missing(left, 'stdout')])
    }
  })

  test('by --tail tell where that is too far back', async () => {
    const id = await written(2 * MIB)
    const far = await cli.run(['logs', 'web', id, '--tail', '100000'])
    expect([far.code, far.stdout.length]).toEqual([0, MIB])
    expect(far.stderr.split('\n')[0]).toMatch(/^boxyard: the last 100000 lines of stdout are more than 1 MiB/)
    const near = await cli.run(['logs', 'web', id, '--tail', '2'])
    expect(near).toMatchObject({ code: 0, stdout: '123456789abcdef\nlast\n', stderr: 'fedcba987654321\n'.repeat(2) })
  })
})
