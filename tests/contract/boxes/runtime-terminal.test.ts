import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { ExecRequest } from '../../../agent/ports/boxes/runtime.ts'
import { execute, type OciLab, openOciLab, untilGone, untilTrue } from '../../helpers/boxes/oci-lab.ts'
import { openScreen, type Screen, textOf } from '../../helpers/exec/screen.ts'

const CONTROL_C = '\x03'
const CONTROL_Z = '\x1a'

describe('a command with a terminal', () => {
  let lab: OciLab
  const open = (command: string | string[], changes?: Partial<ExecRequest>): Promise<Screen> =>
    openScreen(lab, 'box_main', command, changes)

  beforeAll(async () => {
    lab = await openOciLab()
    await lab.runtime.start(lab.spec('box_main', { pidsMax: 1_024 }))
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  test('has a terminal of the box, on its three descriptors and as /dev/tty', async () => {
    const screen = await open(
      'tty; for fd in 0 1 2; do test -t $fd || echo not $fd; done; echo both >/dev/tty; echo err >&2',
    )
    expect(await screen.ended).toMatchObject({ exitCode: 0, signal: null })
    expect(screen.text()).toMatch(/^\/dev\/pts\/\d+\r\nboth\r\nerr\r\n$/)
    expect(screen.running.stderr.readableLength).toBe(0)
  })

  test('has TERM set, unless its environment sets it', async () => {
    expect(await textOf(open('echo $TERM'))).toBe('xterm-256color\r\n')
    expect(await textOf(open('echo $TERM', { environment: { TERM: 'vt100' } }))).toBe('vt100\r\n')
    expect((await execute(lab.runtime, 'box_main', 'echo $TERM')).stdout).toBe('\n')
  })

  test('has 24-bit colors and UTF-8, unless its environment says otherwise', async () => {
    const shown = 'echo "${LANG-none} ${COLORTERM-none}"'
    expect(await textOf(open(shown))).toBe('C.UTF-8 truecolor\r\n')
    expect(await textOf(open(shown, { environment: { TERM: 'xterm', LC_ALL: 'C' } }))).toBe('none truecolor\r\n')
    expect(await textOf(open(shown, { environment: { COLORTERM: '8bit' } }))).toBe('C.UTF-8 8bit\r\n')
    for (const TERM of ['dumb', 'vt100', 'linux'])
      expect(await textOf(open(shown, { environment: { TERM } }))).toBe('C.UTF-8 none\r\n')
  })

  test('erases whole characters of UTF-8, from its first line on', async () => {
    for (let round = 0; round < 10; round++) {
      const screen = await open('read -r line; echo "<$line>"; stty -a')
      screen.type('aü€\x7f\x7fb\n')
      await screen.ended
      expect(screen.text()).toMatch(/<ab>\r\n[^]* iutf8/)
    }
  })

  test('has the requested size, and gets each change', async () => {
    const screen = await open('stty size; trap "stty size" WINCH; echo ready; while :; do sleep 0.02; done')
    await screen.until(/^33 77\r\nready/)
    screen.running.terminal?.resize({ cols: 500, rows: 2 })
    await screen.until(/\n2 500\r\n/)
    screen.running.terminal?.resize({ cols: 120, rows: 40 })
    await screen.until(/\n40 120\r\n/)
    await screen.kill()
    screen.running.terminal?.resize({ cols: 80, rows: 25 })
  })

  test('finds its size though the host is busy', async () => {
    const busy = Array.from({ length: 4 }, () =>
      execute(lab.runtime, 'box_main', 'timeout 4 sh -c "while :; do :; done"'),
    )
    for (let round = 0; round < 20; round++) expect(await textOf(open(['stty', 'size']))).toBe('33 77\r\n')
    await execute(lab.runtime, 'box_main', 'killall timeout sh')
    await Promise.all(busy)
  })

  test('reads input, which the terminal echoes by its settings', async () => {
    const screen = await open('read line; echo "<$line>"; stty -echo; echo quiet; read line; echo "<$line>"')
    screen.type('abX\x7fc\n')
    await screen.until(/quiet\r\n$/)
    expect(screen.text()).toBe('abX\b \bc\r\n<abc>\r\nquiet\r\n')
    screen.type('secret\n')
    expect(await screen.ended).toMatchObject({ exitCode: 0 })
    expect(screen.text()).toMatch(/quiet\r\n<secret>\r\n$/)
  })

  test('Ctrl-C ends the foreground job', async () => {
    const screen = await open('echo ready; sleep 100')
    await screen.until(/ready/)
    screen.type(CONTROL_C)
    expect(await screen.ended).toMatchObject({ exitCode: null, signal: 'SIGINT' })
  })

  test('a shell has job control', async () => {
    const screen = await open(['/bin/sh', '-i'], { environment: { PS1: '% ' } })
    const prompted = async (shown = ''): Promise<void> => {
      await screen.until(new RegExp(`${shown}.*% [^%]*$`, 's'))
    }
    // Earlier input would go to the shell.
    const stat = 'read -r _ _ _ _ group _ _ foreground _ </proc/$(pidof sleep)/stat && test $group = $foreground'
    const inForeground = (): Promise<void> =>
      untilTrue(async () => (await execute(lab.runtime, 'box_main', stat)).exitCode === 0)
    await prompted()
    screen.type('sleep 100\n')
    await inForeground()
    screen.type(CONTROL_Z)
    await prompted('Stopped')
    screen.type('bg\n')
    await prompted('sleep 100')
    screen.type('jobs\n')
    await prompted('Running')
    screen.type('fg\n')
    await screen.until(/fg\r\n[^%]*sleep 100\r\n$/)
    await inForeground()
    screen.type(CONTROL_C)
    await prompted('\\^C')
    screen.type('echo code $?; exit 5\n')
    expect(await screen.ended).toMatchObject({ exitCode: 5 })
    expect(screen.text()).toContain('code 130')
    expect(screen.text()).not.toContain('job control turned off')
  })

  test('the terminal belongs to the user of the command', async () => {
    const text = await textOf(open('exec 5<>$(tty) && echo mine >&5; stat -c %u:%a $(tty)', { user: 'app' }))
    expect(text).toBe('mine\r\n1000:620\r\n')
    expect(await textOf(open('exec 5<>$(tty) && echo mine >&5', { user: '4242' }))).toBe('mine\r\n')
    expect(await textOf(open('stat -c %u $(tty)'))).toBe('0\r\n')
  })

  test('output waits for a slow reader, and arrives whole and in order', async () => {
    const { running } = await open('stty -opost; seq 1 1500000', {})
    const hash = createHash('sha256')
    let size = 0
    let largest = 0
    for await (const chunk of running.stdout as AsyncIterable<Buffer>) {
      const isPause = Math.floor(size / MIB) < Math.floor((size + chunk.length) / MIB)
      size += chunk.length
      hash.update(chunk)
      if (isPause) await sleep(20)
      largest = Math.max(largest, running.stdout.readableLength)
    }
    const expected = createHash('sha256')
    for (let n = 1; n <= 1_500_000; n++) expected.update(`${n}\n`)
    expect(hash.digest('hex')).toBe(expected.digest('hex'))
    expect(largest).toBeLessThan(256 * 1024)
    expect(await running.exited).toMatchObject({ exitCode: 0 })
  })

  test('a command whose output is not read waits', async () => {
    const { running } = await open('stty -opost; seq 1 1500000; echo done >/tmp/written')
    await sleep(500)
    expect(running.stdout.readableLength).toBeLessThan(256 * 1024)
    expect((await execute(lab.runtime, 'box_main', 'cat /tmp/written')).exitCode).not.toBe(0)
    await running.signal('SIGKILL')
    expect(await running.exited).toMatchObject({ signal: 'SIGKILL' })
    running.stdout.destroy()
  })

  test('input after the end of the command loses none of its output', async () => {
    const { running } = await open('stty -opost; head -c 70000 /dev/zero')
    expect(await running.exited).toMatchObject({ exitCode: 0 })
    for (let n = 0; n < 3; n++) await new Promise((resolve) => running.stdin.write('x', resolve))
    running.stdin.end()
    await sleep(50)
    let size = 0
    for await (const chunk of running.stdout as AsyncIterable<Buffer>) size += chunk.length
    // The terminal can have echoed the three bytes.
    expect([70_000, 70_003]).toContain(size)
  })

  test('unread input waits outside the terminal, and is dropped at the end', async () => {
    const screen = await open('stty -echo; echo ready; sleep 100')
    await screen.until(/ready/)
    let taken = 0
    const line = Buffer.from(`${'x'.repeat(1_023)}\n`)
    for (let n = 0; n < 1_024; n++) screen.running.stdin.write(line, () => void taken++)
    await untilTrue(() => screen.running.stdin.writableNeedDrain)
    await sleep(300)
    expect(screen.running.stdin.writableNeedDrain).toBe(true)
    expect(taken).toBeLessThan(256)
    await screen.kill()
    await untilTrue(() => taken === 1_024)
  })

  test('input of 1 MiB reaches a program that reads it, and its end ends the input', async () => {
    const lines = Array.from({ length: 16_384 }, (_, n) => `${n}`.padStart(63, '.'))
      .join('\n')
      .concat('\n')
    const screen = await open('stty -echo; echo ready; cat >/tmp/typed; sha256sum </tmp/typed')
    await screen.until(/ready/)
    screen.running.stdin.end(lines)
    expect(await screen.ended).toMatchObject({ exitCode: 0 })
    expect(screen.text()).toContain(createHash('sha256').update(lines).digest('hex'))
  })

  test('the end of the input also ends an unfinished line, and does not affect a program that reads keys', async () => {
    const begun = await open('stty -echo; echo ready; cat; echo over')
    await begun.until(/ready/)
    begun.running.stdin.end('no newline')
    expect(await begun.ended).toMatchObject({ exitCode: 0 })
    expect(begun.text()).toBe('ready\r\nno newlineover\r\n')
    const keys = await open('stty raw -echo; echo ready; head -c 3 | od -c -A n; echo over')
    await keys.until(/ready/)
    keys.running.stdin.end('ab')
    await sleep(200)
    expect(keys.text()).toBe('ready\n')
    await keys.kill()
  })

  test('background processes keep the terminal until its reader leaves', async () => {
    const screen = await open('trap "" HUP; sleep 300 & sleep 0.1; echo last; exit 3')
    expect(await screen.running.exited).toMatchObject({ exitCode: 3 })
    await screen.until(/last\r\n$/)
    expect(screen.running.stdout.readableEnded).toBe(false)
    screen.running.stdout.destroy()
    await untilTrue(() => screen.running.stdout.closed)
    screen.running.terminal?.resize({ cols: 80, rows: 25 })
    await execute(lab.runtime, 'box_main', 'killall -9 sleep')
  })

  test('the reader leaving hangs the terminal up, the writer leaving does not', async () => {
    const screen = await open('echo ready; sleep 0.3; echo still; sleep 100')
    await screen.until(/ready/)
    screen.running.stdin.destroy()
    await screen.until(/still/)
    screen.running.stdout.destroy()
    expect(await screen.running.exited).toMatchObject({ signal: 'SIGHUP' })
  })

  test.each([
    [['/nowhere/x'], {}, 127, 'boxyard: /nowhere/x: not found\r\n'],
    [['/etc'], {}, 126, 'boxyard: /etc: cannot be started\r\n'],
    [['ls'], { cwd: '/nowhere' }, 127, 'boxyard: cannot enter /nowhere: No such file or directory\r\n'],
  ])('one that cannot be started prints the reason: %j %j', async (command, changes, exitCode, text) => {
    const screen = await open(command, changes)
    screen.running.terminal?.resize({ cols: 1, rows: 1 })
    expect(await screen.ended).toMatchObject({ exitCode, signal: null })
    expect(screen.text()).toEqual(text)
  })
})

const MIB = 1024 * 1024
