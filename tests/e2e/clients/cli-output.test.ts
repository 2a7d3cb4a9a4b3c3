import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { useCommandLine } from '../../helpers/clients/command-line.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useSharedService } from '../../helpers/own-service.ts'

const cli = useCommandLine(useSharedService())
const BYTES = 571_825

beforeAll(async () => {
  expect(await cli.run(['create', 'web'])).toMatchObject({ code: 0 })
  const script = `head -c ${BYTES} /dev/urandom > /root/many; printf last > /root/few`
  expect(await cli.run(['exec', 'web', 'sh', '-c', script])).toMatchObject({ code: 0 })
  const talks = 'seq 1 100000; exec sleep 600'
  expect(await cli.run(['service', 'put', 'web', 'talker', 'sh', '-c', talks])).toMatchObject({ code: 0 })
})

/** Runs a line, and returns what it prints. */
async function printedBy(line: string): Promise<string> {
  const { stdout, stderr } = await cli.runLine(line)
  expect(stderr).toBe('')
  return stdout.trim()
}

describe('a slow reader gets every byte', () => {
  // Starts to read once the program has filled the pipe.
  const slowly = '(sleep 0.7; wc -c)'

  test.each([
    ['boxyard exec web cat /root/many', BYTES],
    ['boxyard exec web sh -c "head -c 70000 /dev/zero"', 70_000],
    ['boxyard exec web sh -c "head -c 65000 /dev/zero; head -c 9000 /dev/zero"', 74_000],
    ['boxyard cat web:/root/many web:/root/few', BYTES + 4],
    ['boxyard cp web:/root/many -', BYTES],
    ['boxyard logs web talker', 588_895],
    ['boxyard exec web sh -c "head -c 300000 /dev/zero >&2" 2>&1 >/dev/null', 300_000],
  ])('of %s', async (line, bytes) => {
    expect(await printedBy(`${line} | ${slowly}`)).toBe(String(bytes))
  })

  test('of an answer, and of a list as JSON, that other programs read whole', async () => {
    const whole = JSON.stringify((await cli.client.get('/openapi.json')).body)
    const parsed = await printedBy('boxyard openapi -o json | (sleep 0.5; jq -c .)')
    expect(JSON.parse(parsed)).toEqual(JSON.parse(whole))
    expect(await printedBy(`boxyard openapi | ${slowly}`)).toBe(await printedBy('boxyard openapi > all; wc -c < all'))
    expect(Number(await printedBy('boxyard api GET /openapi.json | (sleep 0.5; wc -c)'))).toBeGreaterThan(300_000)
  })

  test('of help, completion and words of a shell', async () => {
    for (const line of ['boxyard --help', 'boxyard completion bash', 'boxyard completion words -- ""'])
      expect(await printedBy(`${line} | ${slowly}`)).toBe(await printedBy(`${line} > all; wc -c < all`))
  })
})

describe('what cannot be written is said, and is no success', () => {
  const full = 'no space left on device: some output was lost'

  test.each([
    ['boxyard exec web sh -c "echo a; exit 3"', 3],
    ['boxyard exec web echo a', 0],
    ['boxyard ls -o json', 0],
    ['boxyard cat web:/root/few', 0],
    ['boxyard cp web:/root/many -', 0],
    ['boxyard logs web talker', 0],
    ['boxyard openapi', 0],
    ['boxyard --version', 0],
    ['boxyard --help', 0],
    ['boxyard completion bash', 0],
  ])('%s to a full device', async (line, own) => {
    const said = `boxyard: stdout: ${full}. The command exited with code ${own}.\n`
    expect(await cli.runLine(`${line} > /dev/full`)).toEqual({ code: 74, stdout: '', stderr: said })
  })

  test('a disk that takes a part, and a file that is open to read alone', async () => {
    // A file size limit of 100 KiB with its signal ignored accepts the first part of a write, as a full disk does.
    const line = (program: string): string => `(trap '' XFSZ; ulimit -f 100; boxyard ${program} > part)`
    for (const program of ['openapi', 'cat web:/root/many', 'exec web cat /root/many']) {
      const { code, stderr } = await cli.runLine(line(program))
      expect([program, code, stderr]).toEqual([program, 74, expect.stringContaining('file too large: some output')])
      expect(statSync(join(cli.directory(), 'part')).size).toBe(102_400)
    }
    expect(await cli.runLine('boxyard ls 1< /dev/null')).toMatchObject({
      code: 74,
      stderr: expect.stringContaining('bad file descriptor'),
    })
  })

  test('output of a command that has not ended is given up', async () => {
    const { code, stderr } = await cli.runLine('boxyard exec web yes > /dev/full')
    expect([code, stderr]).toEqual([74, `boxyard: stdout: ${full}. The command had not finished.\n`])
    expect(await cli.runLine('boxyard logs web talker -f > /dev/full')).toMatchObject({ code: 74 })
  })

  test('a lost stderr is told by the code', async () => {
    expect(await cli.runLine('boxyard exec web sh -c "echo a >&2; exit 3" 2> /dev/full')).toMatchObject({ code: 74 })
    expect(await cli.runLine('boxyard info none 2> /dev/full')).toMatchObject({ code: 74 })
  })
})

describe('a reader that leaves ends it quietly', () => {
  test.each([
    ['boxyard exec web sh -c "seq 1 100000; exit 3"', 3],
    ['boxyard exec web seq 1 100000', 0],
    ['boxyard openapi', 0],
    ['boxyard cat web:/root/many', 0],
    ['boxyard logs web talker', 0],
    // These never end on their own.
    ['boxyard logs web talker -f', 0],
    ['boxyard exec web yes', 0],
    ['boxyard exec web sh -c "yes >&2" 2>&1', 0],
  ])('%s, with the code %s', async (line, own) => {
    const { code, stderr } = await cli.runLine(`${line} | head -c 1 > /dev/null; exit \${PIPESTATUS[0]}`)
    expect([code, stderr]).toEqual([own, ''])
  })

  test('and ends its command', async () => {
    await cli.runLine('boxyard exec web yes ended-with-its-reader | head -c 1 > /dev/null')
    await eventually(async () => {
      const { stdout } = await cli.run(['ps', 'web', '--status', 'running', '-o', 'json'])
      return !stdout.includes('ended-with-its-reader')
    })
  })

  test('but a stderr that nobody reads does not', async () => {
    const line = 'boxyard exec web sh -c "echo a >&2; sleep 2; echo b >&2; seq 1 9" 2> >(true) > nine; echo $?'
    expect((await cli.runLine(line)).stdout).toBe('0\n')
    expect(readFileSync(join(cli.directory(), 'nine'), 'utf8')).toHaveLength(18)
  })
})
