import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import { execute, type OciLab, openOciLab, untilGone } from '../../helpers/boxes/oci-lab.ts'
import { runtimeOfTests } from '../../helpers/pods/cluster-of-tests.ts'

const KEY = 'etc/ssh/ssh_host_ed25519_key'

describe('what tells who a box is', () => {
  let lab: OciLab

  beforeAll(async () => {
    lab = await openOciLab()
  })

  afterAll(async () => {
    await lab.close()
    await untilGone(lab)
  })

  /** Returns a root with another box's keys. `program` replaces ssh-keygen, and prints for which box it made a key. */
  const rootWith = (id: string, program: string): string => {
    const root = lab.makeRoot(id)
    for (const path of ['etc/ssh', 'usr/bin', 'var/lib/dbus']) mkdirSync(`${root}/${path}`, { recursive: true })
    for (const path of [
      KEY,
      `${KEY}.pub`,
      'etc/ssh/ssh_host_rsa_key',
      'etc/ssh/sshd_config',
      'var/lib/dbus/machine-id',
    ])
      writeFileSync(`${root}/${path}`, 'of another\n', { mode: 0o600 })
    writeFileSync(`${root}/usr/bin/ssh-keygen`, `#!/bin/sh\n${program}\n`, { mode: 0o755 })
    return root
  }
  const MAKES = 'for last; do :; done; echo "$3 $(hostname) $(id -u)" >"$last"; echo public >"$last.pub"'
  const startNew = async (id: string, isNew = true): Promise<(path: string) => string> => {
    const spec = lab.spec(id, { isNew })
    await lab.runtime.start(spec)
    return (path) => readFileSync(`${spec.rootPath}/${path}`, 'utf8')
  }

  test('the host name and the resolvers are files of its root, which may change them for good', async () => {
    const root = lab.makeRoot('box_names')
    symlinkSync('../run/resolvconf/resolv.conf', `${root}/etc/resolv.conf`)
    writeFileSync(`${root}/etc/hostname`, 'of-the-image\n')
    const run = async (line: string): Promise<string> => (await execute(lab.runtime, 'box_names', line)).stdout
    const restart = async (): Promise<void> => {
      await lab.runtime.stop('box_names', { graceMs: 0 })
      await lab.runtime.start(lab.spec('box_names', { writesNames: false }))
    }
    await lab.runtime.start(lab.spec('box_names'))
    expect(await run('cat /etc/hostname; stat -c "%F %a %U" /etc/resolv.conf /etc/hostname')).toBe(
      'box-names\nregular file 644 root\nregular file 644 root\n',
    )
    const given = await run('cat /etc/resolv.conf')
    expect(given).toMatch(/^# .*\n(.*\n)*$/)
    await restart()
    expect(await run('cat /etc/resolv.conf')).toBe(given)
    // The box appends, edits by renaming, and overwrites.
    await run('echo "nameserver 192.0.2.1" >>/etc/resolv.conf; sed -i s/box-names/mine/ /etc/hostname')
    await restart()
    expect(await run('tail -n 1 /etc/resolv.conf; cat /etc/hostname')).toBe('nameserver 192.0.2.1\nmine\n')
    await run('rm /etc/resolv.conf; ln -s /tmp/other /etc/resolv.conf; echo "nameserver 192.0.2.2" >/etc/resolv.conf')
    await restart()
    expect(await run('readlink /etc/resolv.conf; cat /etc/resolv.conf')).toBe('/tmp/other\nnameserver 192.0.2.2\n')
  })

  test('the hosts file names the box, and is a file of its root unless the box is a pod', async () => {
    const spec = lab.spec('box_hosts')
    await lab.runtime.start(spec)
    const run = (line: string) => execute(lab.runtime, spec.id, line)
    const text = async (): Promise<string> => (await run('cat /etc/hosts')).stdout
    const inRoot = (): string => readFileSync(`${spec.rootPath}/etc/hosts`, 'utf8')
    expect(await text()).toMatch(/^127\.0\.0\.1 localhost$/m)
    if (runtimeOfTests() === 'kubernetes') {
      expect(await text()).toMatch(/box_hosts/)
      expect((await run('echo x >/etc/hosts')).exitCode).not.toBe(0)
      expect(inRoot()).toBe('')
      return
    }
    expect(await text()).toMatch(/^10\.\S+ box-hosts # /m)
    expect((await run('echo 192.0.2.9 mine >>/etc/hosts; tail -n 1 /etc/hosts')).stdout).toBe('192.0.2.9 mine\n')
    expect(inRoot()).toBe(await text())
    const before = await text()
    await lab.runtime.stop(spec.id, { graceMs: 0 })
    await lab.runtime.start(lab.spec('box_hosts_other'))
    await lab.runtime.start({ ...spec, writesNames: false })
    const own = /^.* box-hosts #.*$/m
    expect((await text()).replace(own, '')).toBe(before.replace(own, ''))
    expect(
      (await run('ip -4 -o address show eth0 | grep -c "$(sed -n \'s/ box-hosts.*//p\' /etc/hosts)"')).stdout,
    ).toBe('1\n')
  })

  test('no link of a box leads the host to files of its own', async () => {
    const victim = `${lab.home}/victim`
    writeFileSync(victim, 'kept\n')
    const spec = lab.spec('box_leads')
    // The kubelet writes the hosts file of a pod.
    const files = ['hostname', 'resolv.conf', ...(runtimeOfTests() === 'kubernetes' ? [] : ['hosts'])]
    for (const name of ['hostname', 'resolv.conf', ...files.map((file) => `.${file}.boxyard`)])
      symlinkSync(victim, `${spec.rootPath}/etc/${name}`)
    await lab.runtime.start(spec)
    expect(readFileSync(victim, 'utf8')).toBe('kept\n')
    expect((await execute(lab.runtime, spec.id, 'cat /etc/hostname; ls -A /etc | grep -c boxyard')).stdout).toBe(
      'box-leads\n0\n',
    )
    const etc = lab.makeRoot('box_etc')
    rmSync(`${etc}/etc`, { recursive: true })
    mkdirSync(`${lab.home}/elsewhere`)
    symlinkSync(`${lab.home}/elsewhere`, `${etc}/etc`)
    await lab.runtime.start(lab.spec('box_etc'))
    expect(readdirSync(`${lab.home}/elsewhere`)).toEqual([])
    const odd = lab.makeRoot('box_odd')
    for (const name of ['hostname', 'resolv.conf']) mkdirSync(`${odd}/etc/${name}/full`, { recursive: true })
    await lab.runtime.start(lab.spec('box_odd'))
    expect((await execute(lab.runtime, 'box_odd', 'ls -A /etc/hostname')).stdout).toBe('full\n')
  })

  test('a root that cannot be written holds up neither its start, nor that of the agent', async () => {
    const root = lab.makeRoot('box_long')
    rmSync(`${root}/etc`, { recursive: true })
    symlinkSync('a'.repeat(300), `${root}/etc`)
    const start = (isNew: boolean) => lab.runtime.start(lab.spec('box_long', { isNew, writesNames: isNew }))
    for (const isNew of [true, false]) {
      await start(isNew)
      expect((await execute(lab.runtime, 'box_long', 'echo runs')).stdout).toBe('runs\n')
      await lab.runtime.stop('box_long', { graceMs: 0 })
    }
    await start(false)
    await lab.reopen()
    expect((await execute(lab.runtime, 'box_long', 'echo runs')).stdout).toBe('runs\n')
  })

  test('SSH host keys are made again in a new box, each of its kind, before anything else runs', async () => {
    rootWith('box_keys', MAKES)
    const read = await startNew('box_keys')
    expect(read(KEY)).toBe('ed25519 box-keys 0\n')
    expect(read(`${KEY}.pub`)).toBe('public\n')
    expect(read('etc/ssh/ssh_host_rsa_key')).toBe('rsa box-keys 0\n')
    expect(read('etc/ssh/sshd_config')).toBe('of another\n')
    expect(read('var/lib/dbus/machine-id')).toBe('0123456789abcdef0123456789abcdef\n')
    expect((await execute(lab.runtime, 'box_keys', 'cat /etc/machine-id')).stdout).toBe(read('var/lib/dbus/machine-id'))
  })

  test('their start gives its place to others before they are made, and a start cut off then is made again', async () => {
    rootWith('box_cut', `${MAKES}; echo more >>/made`)
    const waits: string[] = []
    const start = (isNew: boolean) =>
      lab.runtime.start(lab.spec('box_cut', { isNew, writesNames: isNew }), (why) => void waits.push(why))
    const made = async (): Promise<string> => (await execute(lab.runtime, 'box_cut', 'grep -c more /made')).stdout
    const first = await start(true)
    expect([waits, await made()]).toEqual([['Creating SSH host keys.'], '2\n'])
    await lab.reopen()
    const again = await start(true)
    expect(again.pid).not.toBe(first.pid)
    expect([waits.length, await made()]).toEqual([2, '4\n'])
    expect((await start(false)).pid).toBe(again.pid)
    expect(waits).toHaveLength(2)
    rmSync(lab.makeRoot('box_plain'), { recursive: true })
    await lab.runtime.start(lab.spec('box_plain', { isNew: true }), (why) => void waits.push(why))
    expect(waits).toHaveLength(2)
  })

  test('they stay in a box that has run', async () => {
    rootWith('box_ran', MAKES)
    const read = await startNew('box_ran', false)
    expect(read(KEY)).toBe('of another\n')
  })

  test('they stay where they cannot be made, and the box starts', async () => {
    rootWith('box_fails', 'exit 1')
    expect((await startNew('box_fails'))(KEY)).toBe('of another\n')
    const root = rootWith('box_none', 'exit 0')
    rmSync(`${root}/usr/bin/ssh-keygen`)
    expect((await startNew('box_none'))(KEY)).toBe('of another\n')
  })

  test('a box cannot hold up its start by a program that does not end, or lead the host to files of its own', async () => {
    const root = rootWith('box_hangs', 'sleep 600 & sleep 600')
    const startedAt = performance.now()
    await startNew('box_hangs')
    expect(performance.now() - startedAt).toBeLessThan(20_000)
    expect((await execute(lab.runtime, 'box_hangs', 'pidof sleep')).exitCode).toBe(1)
    expect(existsSync(`${root}/${KEY}`)).toBe(true)
    const linked = lab.makeRoot('box_linked')
    symlinkSync('/etc/ssh', `${linked}/etc/ssh`)
    await startNew('box_linked')
    expect((await execute(lab.runtime, 'box_linked', 'echo runs')).stdout).toBe('runs\n')
  })
})
