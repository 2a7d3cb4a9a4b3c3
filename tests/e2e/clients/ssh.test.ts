import { execFileSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { Duplex } from 'node:stream'
import { describe, expect, test } from '@jest/globals'
import ssh2 from 'ssh2'
import { runToEnd, useSshLab } from '../../helpers/clients/ssh-lab.ts'
import { eventually } from '../../helpers/eventually.ts'
import { useOwnService } from '../../helpers/own-service.ts'

const lab = useSshLab(useOwnService())
const { client, service } = lab
const BOXES = '/v1/projects/demo/boxes'
const HOST = 'web.demo.boxyard'

function hashOf(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex')
}

/** Returns whether a command line runs in the box. */
async function isRunning(text: string): Promise<boolean> {
  return (await client.shell('demo', 'web', `ps -o args | grep -v grep | grep -q '${text}'`)).body.exit_code === 0
}

describe('a command', () => {
  test('has its exit code, output and errors', async () => {
    const { code, stdout, stderr } = await lab.ssh([HOST, 'echo out; echo err >&2; exit 7'])
    expect({ code, stdout: stdout.toString(), stderr }).toEqual({ code: 7, stdout: 'out\n', stderr: 'err\n' })
    expect((await lab.ssh([HOST, 'no-such-program'])).code).toBe(127)
    expect((await lab.ssh([HOST, 'kill -TERM $$'])).code).toBe(128 + 15)
  })

  test('is of the box of the current project where none is named, in any case', async () => {
    expect((await lab.ssh(['WEB.boxyard', 'hostname'])).stdout.toString()).toBe('web\n')
  })

  test('gets its input to the end, and megabytes both ways unchanged', async () => {
    const input = randomBytes(20 * 1024 ** 2)
    const { code, stdout, stderr } = await lab.ssh([HOST, 'cat'], { input })
    expect([code, stderr, hashOf(stdout)]).toEqual([0, '', hashOf(input)])
  })

  test('keeps its bytes while both ends change their keys', async () => {
    const input = randomBytes(8 * 1024 ** 2)
    const { code, stdout, stderr } = await lab.ssh(['-v', '-o', 'RekeyLimit=1M', HOST, 'cat'], { input })
    expect([code, hashOf(stdout)]).toEqual([0, hashOf(input)])
    expect(stderr.match(/SSH2_MSG_NEWKEYS received/g)?.length).toBeGreaterThan(4)
  })

  test('loses and doubles nothing of two streams that a slow client reads', async () => {
    const line = 'i=0; while [ $i -lt 60 ]; do head -c 100000 /dev/zero; head -c 100000 /dev/zero >&2; i=$((i+1)); done'
    const child = lab.start('ssh', [...lab.config(), HOST, line])
    child.stdin.end()
    // Reads neither stream until both have data, so the command blocks.
    await eventually(() => child.stdout.readableLength > 0 && child.stderr.readableLength > 0)
    const { code, stdout, stderr } = await runToEnd(child)
    expect([code, stdout.length, stderr.length]).toEqual([0, 6_000_000, 6_000_000])
  })

  test('gets variables, but none of the names that are reserved', async () => {
    const line = 'echo $GREETING $LC_ALL $BOX_NAME'
    const { stdout } = await lab.ssh(['-o', 'SetEnv=GREETING=hello LC_ALL=C BOX_NAME=other', HOST, line])
    expect(stdout.toString()).toBe('hello C web\n')
  })

  test('gets variables with points and hyphens in their names, which some shells keep for themselves', async () => {
    const { stdout } = await lab.ssh(['-o', 'SetEnv=app.log-level=warn', HOST, 'cat /proc/$$/environ | tr "\\0" "\\n"'])
    expect(stdout.toString()).toMatch(/^app\.log-level=warn$/m)
    expect(stdout.toString()).toMatch(/^LANG=C\.UTF-8$/m)
  })

  test('is in the audit log, of any length, without the variables of the client', async () => {
    await lab.ssh(['-o', 'SetEnv=GREETING=hunter2', HOST, 'echo over ssh'])
    await lab.ssh([HOST, `echo long ${'x'.repeat(36_000)}`])
    const { entries } = (await client.get('/v1/audit?operation=streamExec')).body
    const [long, short] = entries.map(({ command }: { command: string[] }) => command.join(' '))
    expect(short).toContain('echo over ssh')
    expect(long).toMatch(/echo long x+$/)
    expect(entries[0]).toMatchObject({ status: 101, command_truncated: true })
    expect(JSON.stringify(entries)).not.toContain('hunter2')
  })

  test('runs as the user that is named', async () => {
    const made = `echo ann:x:1000:1000::/home/ann:/bin/ash >> /etc/passwd; mkdir /home/ann`
    await client.shell('demo', 'web', made)
    const { stdout } = await lab.ssh([`ann@${HOST}`, 'id -un; pwd; echo $SHELL'])
    expect(stdout.toString()).toBe('ann\n/home/ann\n/bin/ash\n')
  })

  test('ends when its client goes', async () => {
    const child = lab.start('ssh', [...lab.config(), HOST, 'sleep 7001'])
    await eventually(() => isRunning('sleep 7001'))
    child.kill('SIGKILL')
    await eventually(async () => !(await isRunning('sleep 7001')))
  })

  test('is sent signals', async () => {
    const child = lab.start(process.execPath, [lab.path('boxyard.cjs'), 'ssh-proxy', HOST])
    const connection = new ssh2.Client()
    const key = readFileSync(lab.path('.config/boxyard/ssh/client_ed25519'))
    const sock = Duplex.from({ readable: child.stdout, writable: child.stdin })
    connection.connect({ sock, username: 'root', privateKey: key })
    await new Promise((resolve, reject) => connection.once('ready', () => resolve(null)).once('error', reject))
    const line = `trap 'echo got; exit 9' USR1; echo set; while :; do sleep 0.1; done`
    const code = await new Promise((resolve, reject) => {
      connection.exec(line, (error, channel) => {
        if (error) return reject(error)
        channel.once('data', () => channel.signal('USR1'))
        channel.once('exit', resolve)
      })
    })
    expect(code).toBe(9)
    connection.end()
    child.kill()
  })
})

describe('a terminal', () => {
  /** Runs a shell line in a local terminal of 33 by 91. */
  function inTerminal(line: string): ReturnType<typeof lab.start> {
    return lab.start('script', ['-qec', `stty rows 33 cols 91; ${line}`, '/dev/null'])
  }
  const ssh = (): string => `ssh ${lab.config().join(' ')}`

  test('has the size of the client’s, also when that changes', async () => {
    execFileSync('mkfifo', [lab.path('resize')])
    const remote = `stty size; until [ "$(stty size)" = "40 100" ]; do sleep 0.1; done; echo resized $TERM`
    const resize = `(read go < ${lab.path('resize')}; stty -F /dev/tty rows 40 cols 100) &`
    const child = inTerminal(`${resize} ${ssh()} -t ${HOST} '${remote}'`)
    let shown = ''
    child.stdout.on('data', (piece: Buffer) => (shown += piece.toString()))
    const end = runToEnd(child)
    await eventually(() => shown.includes('33 91'))
    writeFileSync(lab.path('resize'), 'go\n')
    expect((await end).code).toBe(0)
    expect(shown).toContain('resized xterm')
  })

  test('has a login shell, whose exit code is that of ssh', async () => {
    const child = inTerminal(`${ssh()} ${HOST}`)
    let shown = ''
    child.stdout.on('data', (piece: Buffer) => (shown += piece.toString()))
    const end = runToEnd(child)
    await eventually(() => shown.includes('# '))
    child.stdin.write('echo se$((1))en; tty; exit 3\n')
    expect((await end).code).toBe(3)
    expect(shown).toMatch(/se1en\r\n\/dev\/pts\/\d/)
  })
})

describe('what is wrong is told on stderr', () => {
  test('a box that is not there', async () => {
    const { code, stderr } = await lab.ssh(['none.demo.boxyard', 'true'])
    expect([code, stderr]).toEqual([255, expect.stringMatching(/^boxyard: No box named "none" in project "demo"\./)])
  })

  test('a box that is stopped, a user that is not there, a context that is none', async () => {
    await client.post(BOXES, { name: 'still' })
    await client.post(`${BOXES}/still/stop`)
    const stopped = await lab.ssh(['still.demo.boxyard', 'true'])
    expect([stopped.code, stopped.stderr]).toEqual([255, expect.stringContaining('"still" is stopped')])
    expect(await lab.ssh([`nobody-here@${HOST}`, 'true'])).toMatchObject({ code: 255 })
    const unknown = await lab.ssh(['web.demo.elsewhere.boxyard', 'true'])
    expect([unknown.code, unknown.stderr]).toEqual([255, expect.stringContaining('no context "elsewhere"')])
  })

  test('a box that is stopped while a command runs, and an agent that is killed', async () => {
    const before = lab.ssh([HOST, 'echo on; sleep 7002'])
    await eventually(() => isRunning('sleep 7002'))
    await service().killAgent()
    expect((await before).code).toBe(255)
    await service().startAgent()
    const during = lab.ssh([HOST, 'sleep 7003'])
    await eventually(() => isRunning('sleep 7003'))
    await client.post(`${BOXES}/web/stop`)
    expect((await during).code).not.toBe(0)
    expect((await client.post(`${BOXES}/web/resume`)).status).toBe(200)
  })
})
